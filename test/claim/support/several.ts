import type { ClaimRequest } from '../../../src/claim/claim.ts';
import { createClaims } from '../../../src/claim/claims.ts';
import type { DatabaseClaims } from '../../../src/claim/databaseClaims.ts';
import { createBase } from '../../../src/engine/base.ts';
import { createRooms } from '../../../src/engine/rooms.ts';
import { unavailable } from '../../../src/errors.ts';
import { createLedger } from '../../../src/ledger.ts';
import { startDuties } from '../../../src/maintenance/duties.ts';
import { createOutageLog } from '../../../src/postgres/outageLog.ts';
import { openDatabase } from '../../../src/postgres/pool.ts';
import type { LeasedJob } from '../../../src/verbs/claims.ts';

const log = () => undefined;
const silent = { warn: log, info: log };

/** Where the queues of a test are, by the number of the database. `home`, the first one, knows it. */
export type Placed = Map<string, number>;

/** The rooms of one database of a replica, with their duties. */
async function openRooms(url: string, claimsOf: Parameters<typeof createRooms>[1]['claimsOf']) {
  const db = openDatabase(url, 6, createOutageLog(silent));
  // It never rests: nothing here tells it of the claims.
  const base = createBase({ db, listenUrl: url, log, restTimes: { awakeMs: 1e9 } });
  const rooms = createRooms(base, { operationStarted: log, claimsOf });
  const { claims } = rooms;
  await base.notifier.start({
    here: claims.wake,
    coming: claims.expect,
    elsewhere: claims.wake,
    unnoticed: claims.lookAt,
    blocked: rooms.repair.blocked,
    replaced: claims.replaced,
    finished: base.waiters.wake,
    anywhere: claims.wakeAll,
    active: base.rest.heardActive,
    looked: base.rest.heardLook,
    keysChanged: log,
    placed: log,
    sessions: log,
  });
  const duties = startDuties({
    ...base,
    ...rooms,
    enqueueWithin: rooms.enqueue.enqueueWithin,
    operations: rooms.operationWork,
    lookAnywhere: claims.wakeAll,
  });
  await duties.begun;
  return { db, base, rooms, duties };
}

type Opened = Awaited<ReturnType<typeof openRooms>>;

/** A replica over several databases, as far as claims go. Replicas of the same `placed` are of one Dibs. */
export async function openReplica(urls: string[], placed: Placed) {
  const opened: Opened[] = [];
  const cached: Placed = new Map();
  const parts: DatabaseClaims[] = [];
  const all = () => parts as [DatabaseClaims, ...DatabaseClaims[]];
  const at = (number: number | undefined) => (number === undefined ? undefined : parts[number]);
  const claims = createClaims({
    sessions: { check: () => undefined },
    places: {
      all,
      known: (queue) => at(cached.get(queue)),
      async find(queue) {
        if (all()[0].isAway()) throw unavailable();
        const number = placed.get(queue);
        if (number !== undefined) cached.set(queue, number);
        return at(number);
      },
    },
    ledger: createLedger(),
    log,
  });
  const claimsOf = (own: DatabaseClaims) => {
    parts.push(own);
    return claims;
  };
  for (const url of urls) opened.push(await openRooms(url, claimsOf));

  const placeOf = (queue: string) => opened[placed.get(queue) as number] as Opened;
  return {
    claims,
    opened,

    /** Jobs for a queue, in the database where it is. */
    enqueue: (queue: string, count = 1, more: object = {}) =>
      placeOf(queue).rooms.enqueue.enqueue(
        Array.from({ length: count }, (_, i) => ({ queue, headers: { number: `${i}` }, ...more })),
        (i) => `/jobs/${i}`,
      ),

    ack: (job: LeasedJob) =>
      placeOf(job.queue).rooms.settlement.ack({ id: job.id, lease_token: job.lease_token }),

    /** A claim, and what its consumer does to hang up. */
    claim(request: ClaimRequest) {
      let hangUp: () => void = () => undefined;
      const jobs = claims.claim({
        ...request,
        onHangup: (gone) => {
          hangUp = gone;
        },
      });
      return { jobs, hangUp };
    },

    async stop() {
      claims.close();
      for (const { rooms, duties, base, db } of opened) {
        await rooms.claims.idle();
        await duties.stop();
        await rooms.claims.giveBackLost().catch(() => undefined);
        rooms.loopLag.stop();
        await base.notifier.stop();
        await db.close();
      }
    },
  };
}

export type SeveralReplica = Awaited<ReturnType<typeof openReplica>>;
