import type { DatabaseEngine } from '../../engine/open.ts';
import { isAlreadyRelocating } from '../../postgres/errorClasses.ts';
import type { Database, Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
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
};

/** Calls for the queue wait again, and a replica takes the relocation up. */
async function reopenOne(
  home: Db,
  database: string,
  of: { queue_id: number; relocation: string },
  { role, attempt, other, queue }: Note,
): Promise<void> {
  const { queue_id } = of;
  const [source, target] = role === 'arrived' ? [other, database] : [database, other];
  // Its place may be forgotten, too.
  await home.query(statements.adopt, { ids: [queue_id], names: [queue], database: source });
  const [place] = await home.query(statements.holdAlone, { name: queue });
  if (place?.queue_id !== queue_id) return;
  const phase = role === 'returning' ? role : 'leaving';
  const opened = await home.query(statements.reopen, { ...of, queue, source, target, phase, attempt });
  if (opened.length > 0) await home.query(statements.hold, { queue_id, source, target });
}

/** Home goes on with relocations of queues of this database that it has forgotten. */
export async function reopenForgotten(home: Database, { name, base }: DatabaseEngine): Promise<void> {
  for (const of of await base.db.query(statements.notes))
    await base.db
      .transaction(async (there) => {
        // A relocation does not end while its note is held. So one that has ended is not opened again.
        const [note] = await there.query(statements.holdNote, of);
        if (note) await home.transaction((atHome) => reopenOne(atHome, name, of, note));
      })
      .catch((error) => {
        if (!isAlreadyRelocating(error)) throw error;
      });
}
