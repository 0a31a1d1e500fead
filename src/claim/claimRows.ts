import { createHash } from 'node:crypto';
import { isClaimTaken } from '../postgres/errorClasses.ts';
import { type Call, callOf } from '../postgres/pipeline.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { type Claim, type ClaimName, isGivenUp, wantOnly } from './claim.ts';
import type { RepeatedRow } from './leasedJob.ts';

/*
 * The rows of `dibs.repeatable_claims`: one for each claim with a `claim_id`, over all replicas. Whoever holds the lock
 * of the row decides. What the columns mean stands in sql/migrations/0014_repeatable_claims.sql.
 */

const statements = {
  own: prepared('claim/own'),
  ownLeased: prepared('claim/own_leased'),
  hurry: prepared('claim/hurry'),
  lock: prepared('claim/lock', row<{ holder: string; waits: boolean; looks: boolean }>()),
  repeat: prepared('claim/repeat', row<RepeatedRow>()),
  leave: prepared('claim/leave'),
  unname: prepared('claim/unname', row<Lease>()),
  taken: planned('claim/taken', row<{ mark: string }>()),
};

export interface Lease {
  id: string;
  lease_token: string;
}

/**
 * The mark of a claim: a hash of its claim_id, its queues and its session. With others, the same claim_id is another
 * claim.
 */
export function markOf(id: string, queues: string[], session?: string): string {
  const tied = session === undefined ? [] : [{ session }];
  const hash = createHash('sha256').update(JSON.stringify([id, ...queues.toSorted(), ...tied]));
  return hash
    .digest('hex')
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The claims as the statements take them. */
const listed = (names: ClaimName[]) => ({
  marks: names.map(({ mark }) => mark),
  holders: names.map(({ holder }) => holder),
});

export const namesOf = (claims: Claim[]): ClaimName[] => claims.flatMap(({ name }) => name ?? []);

/**
 * The calls that claims with a claim_id need before and after a claiming statement, in its transaction. At its first
 * look a claim writes its row (own.sql). Later it writes only when it got jobs (own_leased.sql). Both fail
 * (isClaimTaken) when another request of the claim was first.
 */
export function ownCalls(db: Db, claims: Claim[]): { before: Call[]; behind: Call[] } {
  const first = claims.filter((claim) => claim.name && !claim.owned?.has(db));
  const later = claims.filter((claim) => claim.name && claim.owned?.has(db));
  const waits = first.map(({ wish }) => wish === 'wait');
  return {
    before: first.length > 0 ? [callOf(statements.own, { ...listed(namesOf(first)), waits })] : [],
    behind: later.length > 0 ? [callOf(statements.ownLeased, listed(namesOf(later)))] : [],
  };
}

/** After a transaction failed (isClaimTaken): finds out which claims may not lease, and notes it in them. */
export async function noteTaken(db: Db, claims: Claim[]): Promise<void> {
  const taken = await takenOf(db, namesOf(claims));
  for (const claim of claims) if (claim.name && taken.has(claim.name.mark)) wantOnly(claim, 'taken');
}

/** Writes the rows of claims whose queue is empty or does not exist: for them, no claiming statement does it. */
export async function ownWithoutLeasing(db: Database, claims: Claim[]): Promise<void> {
  for (
    let left = claims.filter(({ owned }) => !owned?.has(db));
    left.length > 0;
    left = left.filter((claim) => !isGivenUp(claim))
  )
    try {
      await db.pipeline(ownCalls(db, left).before);
      for (const claim of left) claim.owned?.add(db);
      return;
    } catch (error) {
      if (!isClaimTaken(error)) throw error;
      await noteTaken(db, left);
    }
}

/** Whether a claim may lease in this database. If it has a name, it must have asked there for leases of that name. */
export const mayLeaseIn =
  (db: Db) =>
  ({ name }: Claim): boolean =>
    name?.askedIn.includes(db) ?? true;

/**
 * Lets claims lease in one more database: a queue of theirs is there now. They write their rows there, and then make sure
 * that no other request has taken them where that is decided: whoever takes them later finds these rows.
 */
export async function enter(db: Database, strangers: Claim[]): Promise<void> {
  await ownWithoutLeasing(db, strangers);
  for (const claim of strangers) {
    const { name } = claim;
    const [decidingDb] = name?.askedIn ?? [];
    if (!name || !decidingDb || isGivenUp(claim)) continue;
    await noteTaken(decidingDb, [claim]);
    name.askedIn.push(db);
  }
}

/** What a request finds when it asks for the leases of its claim. */
export interface Found {
  /** The running leases of the claim. If there are any, the request is noted as one that answers for them. */
  rows: RepeatedRow[];
  /** Another request looks at the queues at this moment. */
  looks: boolean;
  /** The request that waits for jobs, if there is one. */
  waiter: string | undefined;
  /** Another request had the claim before. */
  isTaken: boolean;
}

/**
 * Asks for the leases of a claim. `takes`: if there are none, the request becomes the holder, and may lease. For the
 * next 3 s, no other request can become it: by then, this one has looked at its queues. `waits`: it will wait if it
 * finds no jobs. `hurries`: the holder before it is not left alone, and neither is this request.
 */
export async function findLeases(
  db: Database,
  name: ClaimName,
  { takes, waits, hurries = false }: { takes: boolean; waits: boolean; hurries?: boolean },
): Promise<Found> {
  const { mark, holder: request } = name;
  const hurry = hurries ? [callOf(statements.hurry, { mark })] : [];
  const results = await db.pipeline([
    callOf(statements.lock, { mark, request }),
    ...hurry,
    callOf(statements.repeat, { mark, request, takes, waits }),
    ...hurry,
  ]);
  const before = results[0]?.[0] as { holder: string; waits: boolean; looks: boolean };
  const isOther = before.holder !== request;
  return {
    rows: results[1 + hurry.length] as unknown as Found['rows'],
    looks: before.looks && isOther,
    waiter: before.waits && isOther ? before.holder : undefined,
    isTaken: isOther,
  };
}

/** The holder of a claim looks at its queues no more. Nobody waits for it any longer. */
export const endLook = (db: Db, { mark }: ClaimName): Promise<unknown> =>
  db.query(statements.hurry, { mark });

/**
 * A request stops answering for its claim. If it was the last one, the leases are returned: somebody must release them.
 */
export async function leaveClaim(db: Database, { mark, holder: request }: ClaimName): Promise<Lease[]> {
  const [, leases] = await db.pipeline([
    callOf(statements.leave, { mark, request }),
    callOf(statements.unname, { mark }),
  ]);
  return leases as unknown as Lease[];
}

/** The marks of those claims for which another request leases, or has leased. */
export async function takenOf(db: Db, names: ClaimName[]): Promise<Set<string>> {
  const rows = await db.query(statements.taken, listed(names));
  return new Set(rows.map(({ mark }) => mark));
}
