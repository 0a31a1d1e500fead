import { idempotencyKeyReused } from '../errors.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Answer, IdempotentRequest } from '../verbs/enqueue.ts';

/*
 * The answers that are kept for 24 hours, by Idempotency-Key.
 *
 * Two statements are planned at each call. The table is empty in most places. A plan that was made then would read all of
 * it once there are keys.
 */

const statements = {
  find: planned('enqueue/idempotency_find', row<KeptAnswer>()),
  take: prepared('enqueue/idempotency_take'),
  answer: planned('enqueue/idempotency_answer'),
};

export interface KeptAnswer extends Answer {
  matches: boolean;
  /** True while the request may still get another answer. */
  open: boolean | null;
}

/** The kept answer of this request. @throws Refusal `idempotency_key_reused` when another request has used the key */
export async function recall(
  db: Db,
  { route, key, fingerprint }: IdempotentRequest,
): Promise<KeptAnswer | undefined> {
  const [found] = await db.query(statements.find, { route, key, fingerprint });
  if (found && !found.matches) throw idempotencyKeyReused(key);
  return found;
}

/** Takes the key for a transaction. False when an answer is kept under it already. */
export async function takeKey(
  transaction: Db,
  { route, key, fingerprint }: IdempotentRequest,
): Promise<boolean> {
  const taken = await transaction.query(statements.take, { route, key, fingerprint });
  return taken.length > 0;
}

/** Keeps the answer of a request that has taken its key. For `openSeconds`, another answer may replace it. */
export const keepAnswer = (
  on: Db,
  { route, key }: IdempotentRequest,
  { status, location, body }: Answer,
  openSeconds?: number,
) => on.query(statements.answer, { route, key, status, location, body, open_seconds: openSeconds ?? null });
