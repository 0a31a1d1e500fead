import type { DatabaseEngine } from '../engine/open.ts';
import type { Rooms } from '../engine/rooms.ts';
import { queueIdOf } from '../ids.ts';
import { createSettleMany } from '../settle/settleMany.ts';
import type { PathOf } from '../verbs/enqueue.ts';
import type { Ack, Nack } from '../verbs/settle.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import type { Placements } from './placements.ts';
import type { WhyRefused } from './whyRefused.ts';

/** Runs an item of a settlement in the rooms of a database. Its replicas rest no more. */
const inRooms =
  <T>(run: (rooms: Rooms) => Promise<T>) =>
  ({ base, rooms }: DatabaseEngine): Promise<T> => {
    const told = base.rest.asked(true);
    return told ? told.then(() => run(rooms)) : run(rooms);
  };

/** Settles jobs, each in its database. Follow-ups are decided there. */
export function settlingOfSeveral(
  { home, toJob }: Lead,
  placements: Placements,
  why: WhyRefused,
): Pick<Verbs, 'ack' | 'nack' | 'settle'> {
  const item = <T>(id: string, run: (rooms: Rooms) => Promise<T>): Promise<T> => toJob(id, inRooms(run));
  const whyRefused =
    ({ id, enqueue: jobs = [] }: Ack | Nack, at: PathOf) =>
    (error: unknown) => {
      const place = placements.knownById(queueIdOf(id) ?? 0);
      return why(error, { jobs, at, beside: 'the job that adds it', place });
    };

  return {
    ack: (ack) => toJob(ack.id, ({ verbs }) => verbs.ack(ack)).catch(whyRefused(ack, ack.at)),
    nack: (nack) => toJob(nack.id, ({ verbs }) => verbs.nack(nack)).catch(whyRefused(nack, nack.at)),

    settle: createSettleMany(
      {
        check: home.rooms.enqueue.check,
        ack: (ack, at) => item(ack.id, ({ followUps }) => followUps.ack(ack, at)).catch(whyRefused(ack, at)),
        nack: (nack, at) =>
          item(nack.id, ({ followUps }) => followUps.nack(nack, at)).catch(whyRefused(nack, at)),
        release: (release) => item(release.id, ({ settlement }) => settlement.release(release)),
        extend: (extend) => item(extend.id, ({ settlement }) => settlement.extend(extend)),
      },
      'its items',
    ),
  };
}
