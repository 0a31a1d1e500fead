import { type Askers, askers } from '../askers.ts';
import type { Hold } from '../memory.ts';
import type { ClaimRequest as AskedClaim, LeasedJob } from '../verbs/claims.ts';

/*
 * Why a claim is answered with no job, and where that is decided:
 *
 *   No queue has this name ......................... dispatcher.ts, `serve`
 *   The queue is paused ............................ `is_open` in sql/claim/plain.sql and sql/shared/claim_allowance.sql
 *   No job of the queue is ready: all are delayed or back off (maintenance/sweeper.ts promotes them), are blocked behind
 *     the heads of their groups (groups/heads.ts), are leased, finished or dead
 *   The ready jobs have expired .................... `expires_at` in sql/shared/claim_scan.sql, sql/claim/fair.sql and front.sql
 *   `max_leased` or `rate_limit` is reached ........ sql/shared/claim_allowance.sql
 *   This replica has not heard of a new claim limit  sql/claim/plain.sql; it has within 0.8 s (queues/cache.ts)
 *   Other claims have the jobs locked at this moment `skip locked`; a claim that waits looks again within a second
 *   A job committed late, below the scan floor ..... floor/scanFloor.ts; floor/recall.ts gives it a new position
 *   Claims that came earlier took the jobs ......... waitLine.ts
 *   `wait_seconds` is over, or the replica stops ... dispatcher.ts, `expire` and `close`
 *   A newer request has the same `claim_id` ........ repeatable.ts, sql/claim/own.sql
 *   Memory is short, and the first job is large .... lease.ts, `SCARCE`; without a job the answer is 503 `overloaded`
 *   The consumer hung up ........................... dispatcher.ts, `abandon`; its jobs go back (lostLeases.ts)
 *
 * GET /queues/{queue}/explain tells which of the first five it is (looking/explainQueue.ts).
 */

/** What a consumer asks for, perhaps together with a settlement. */
export interface ClaimRequest extends AskedClaim {
  /** It goes in the round trip of a settlement. Settles with that. */
  settling?: Promise<unknown>;
}

/** Names a claim with a `claim_id` (`mark`, claimRows.ts), and the request that sent it. */
export interface ClaimName {
  mark: string;
  holder: string;
}

/** A claim that is not answered yet. */
export interface Claim {
  /** Order of arrival on this replica. */
  arrival: number;
  /** Where it looks, in its order. */
  queues: string[];
  by: string | undefined;
  limit: number;
  lease_seconds: number | undefined;
  worker: string | undefined;
  askers: Askers;
  /** Only a claim with a `claim_id` has one. */
  name: ClaimName | undefined;
  /** What it has leased so far, and about how many bytes that is. */
  jobs: LeasedJob[];
  bytes: number;
  hold: (() => Hold) | undefined;
  /** The queue that it looks at on its first pass. Behind the last one it waits for all of its queues at once. */
  visit: number;
  /** For each of its queues, how often the wait line had been woken when this claim last looked there. */
  seen: number[];
  /** In a statement at this moment. Other wait lines leave it alone, so that it never gets more than its limit. */
  busy: boolean;
  /** When it last looked, there was no memory for any but small jobs. */
  starved: boolean;
  /** Its `wait_seconds` are over, or a newer request with the same claim_id replaced it. */
  expired: boolean;
  /** Its consumer hung up. */
  gone: boolean;
  /** The round trip in which it first looks also settles jobs of its consumer. If it leaves that, it waits for them. */
  settling: Promise<unknown> | undefined;
  /** Another request with the same claim_id has leased for it, or may. This one leases no more. */
  taken: boolean;
  /** It held its row of dibs.repeatable_claims at some time. Another request that takes it comes after it. */
  owned: boolean;
  /** It is answered. */
  done: boolean;
  timer: NodeJS.Timeout | undefined;
  answered: Promise<LeasedJob[]>;
  answer(jobs: LeasedJob[]): void;
  refuse(error: unknown): void;
}

/** Where a claim looks, in its order. */
export const queuesOf = (request: ClaimRequest): string[] =>
  request.queues ? [...new Set(request.queues)] : ['default'];

/** A claim that has not looked anywhere yet. A claim that does not wait is expired from the start. */
export function newClaim(request: ClaimRequest, name: ClaimName | undefined, arrival: number): Claim {
  const queues = queuesOf(request);
  let answer: Claim['answer'] = () => undefined;
  let refuse: Claim['refuse'] = () => undefined;
  const answered = new Promise<LeasedJob[]>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  return {
    arrival,
    queues,
    by: request.by,
    limit: request.limit ?? 1,
    lease_seconds: request.lease_seconds,
    worker: request.worker,
    askers: askers(),
    name,
    jobs: [],
    bytes: 0,
    hold: request.hold,
    visit: 0,
    seen: queues.map(() => 0),
    busy: false,
    starved: false,
    expired: !request.wait_seconds,
    gone: false,
    settling: request.settling,
    taken: false,
    owned: false,
    done: false,
    timer: undefined,
    answered,
    answer,
    refuse,
  };
}

/** How many jobs a claim may still lease. */
export const slotsOf = (claim: Claim): number => claim.limit - claim.jobs.length;

/** It gets no more jobs. */
export const isGivenUp = (claim: Claim): boolean => claim.gone || claim.taken;

/** Whether a claim has looked at all of its queues, and found nothing. */
export const isWaiting = (claim: Claim): boolean => claim.visit === claim.queues.length;
