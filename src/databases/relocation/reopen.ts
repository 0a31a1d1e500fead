import { HOME } from '../../config/databases.ts';
import type { DatabaseEngine } from '../../engine/open.ts';
import { isAlreadyRelocating } from '../../postgres/errorClasses.ts';
import type { Database, Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
import { withNumber } from '../named.ts';
import type { Place } from '../placements.ts';

/** What a relocation has noted of a queue in one of its databases. `other`: where it goes, or came from. */
interface Note {
  role: 'leaving' | 'returning' | 'arrived';
  attempt: number;
  other: string;
  queue: string;
}

const statements = {
  notes: planned('relocation/notes', row<{ queue_id: number; relocation: string }>()),
  holdNote: planned('relocation/hold_note', row<Note>()),
  adopt: planned('databases/adopt'),
  holdAlone: planned('databases/hold_alone', row<Place>()),
  reopen: planned('relocation/reopen'),
  hold: planned('relocation/hold'),
  lock: planned('changing/queue_lock'),
  leave: planned('relocation/leave'),
};

/** Calls for the queue wait again, and a replica takes the relocation up. False: another queue has its number or its name by now. */
async function reopenOne(
  home: Db,
  database: string,
  of: { queue_id: number; relocation: string },
  { role, attempt, other, queue }: Note,
): Promise<boolean> {
  const { queue_id } = of;
  const [source, target] = role === 'arrived' ? [other, database] : [database, other];
  // Its place may be forgotten, too.
  await home.query(statements.adopt, { ids: [queue_id], names: [queue], database: source });
  const [place] = await home.query(statements.holdAlone, { name: queue });
  if (place?.queue_id !== queue_id) return false;
  const phase = role === 'returning' ? role : 'leaving';
  const opened = await home.query(statements.reopen, { ...of, queue, source, target, phase, attempt });
  if (opened.length === 0) return true;
  await home.query(statements.hold, { queue_id, source, target });
  if (role !== 'arrived' || source !== HOME) return true;
  // What home itself has of the queue is from before. It takes no job from now on.
  await home.query(statements.lock, { queue_id });
  await home.query(statements.leave, { ...of, target });
  return true;
}

/**
 * Home goes on with relocations of queues of this database that it has forgotten. Returns the queues with which it cannot: others have
 * their numbers or names.
 */
export async function reopenForgotten(home: Database, { name, base }: DatabaseEngine): Promise<string[]> {
  const left: string[] = [];
  for (const of of await base.db.query(statements.notes))
    await base.db
      .transaction(async (there) => {
        // A relocation does not end while its note is held. So one that has ended is not opened again.
        const [note] = await there.query(statements.holdNote, of);
        if (!note) return;
        const goesOn = await home.transaction((atHome) => reopenOne(atHome, name, of, note));
        if (!goesOn) left.push(withNumber({ id: of.queue_id, name: note.queue }));
      })
      .catch((error) => {
        if (!isAlreadyRelocating(error)) throw error;
      });
  return left;
}
