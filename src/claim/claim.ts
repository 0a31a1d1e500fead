import { type Askers, askers } from '../askers.ts';
import { type Hold, LARGEST_BYTES } from '../memory.ts';
import type { Db } from '../postgres/pool.ts';
import type { ClaimRequest as AskedClaim, LeasedJob } from '../verbs/claims.ts';

/*
 * Why a claim is answered with no job, and where that is decided:
 *
 *   No queue has this name ......................... step.ts, `asked`
 *   The queue is paused ............................ `is_open` in sql/claim/, shared/claim_allowance.sql
 *   No job of the queue is ready: all are delayed or back off (maintenance/sweeper.ts promotes them), are blocked
 *     behind the heads of their groups (groups/heads.ts), are leased, finished or dead
 *   The ready jobs have expired .................... `expires_at` in sql/shared/claim_scan.sql, claim/fair.sql, claim/front.sql
 *   `max_leased` or `rate_limit` is reached ........ sql/shared/claim_allowance.sql
 *   This replica has not heard of a new claim limit, or of a `group_concurrency` above 1
 *     sql/claim/plain.sql; it has within 0.8 s (queues/cache.ts)
 *   Other claims have the jobs locked right now .... `skip locked`; a claim that waits looks again within a second
 *   A job committed late, below the scan floor ..... floor/scanFloor.ts; floor/recall.ts gives it a new position
 *   Claims that came earlier took the jobs ......... waitLine.ts
 *   `wait_seconds` is over, or the replica stops ... step.ts, `wait over` and `closed`
 *   A newer request has the same `claim_id` ........ repeatable.ts, sql/claim/own.sql
 *   Its session has ended .......................... claimSessions.ts, sql/claim/hold_sessions.sql; it is refused
 *   Memory is short, and the first job is large .... lease.ts, `SCARCE`; a claim without a job is refused: `overloaded`
 *   The consumer hung up ........................... step.ts, `hung up`; its jobs go back (lostLeases.ts)
 *
 * The verb `explainQueue` tells which of the first five it is (looking/explainQueue.ts).
 */

/** A claim gets no more jobs once its payloads have about this many bytes. It is the same for a statement. */
export const CLAIM_BYTES = LARGEST_BYTES;

/** What a consumer asks for, perhaps together with a settlement. */
export interface ClaimRequest extends AskedClaim {
  /**
   * The settlement with which the claim shares a round trip. The promise settles when that is committed, or has failed.
   */
  settling?: Promise<unknown>;
}

/** Names a claim with a `claim_id` (`mark`, claimRows.ts), and the request that sent it. */
export interface ClaimName {
  mark: string;
  holder: string;
  /**
   * The databases where the request may lease. In the first one it is decided which request goes on. With one database
   * it is that one.
   */
  askedIn: Db[];
}

/**
 * Where a claim is. It visits its queues one after the other. If it found nothing in any of them, it waits for all of
 * them at once.
 */
export type ClaimState = 'visiting' | 'waiting' | 'in a statement' | 'answered';

/**
 * What a claim may still do. It goes down this list, and never up.
 *
 *   wait    It looks at all of its queues, and then waits for jobs.
 *   look    It looks at all of its queues once. It did not ask to wait, its time is over, or a repeat takes its place.
 *   taken   It gets no more jobs, because another request with its claim_id leases.
 *   ended   It gets no more jobs, because its session has ended, or may have.
 *   gone    It gets no more jobs, because its consumer hung up.
 */
export const WISHES = ['wait', 'look', 'taken', 'ended', 'gone'] as const;
export type Wish = (typeof WISHES)[number];

/** A claim that is not answered yet. */
export interface Claim {
  /** Order of arrival on this replica. */
  arrival: number;
  state: ClaimState;
  wish: Wish;
  /** Where it looks, in its order. */
  queues: string[];
  by: string | undefined;
  limit: number;
  lease_seconds: number | undefined;
  worker: string | undefined;
  /** Its leases end with this session. */
  session: string | undefined;
  askers: Askers;
  /** Only a claim with a `claim_id` has one. */
  name: ClaimName | undefined;
  /** What it has leased so far, and about how many bytes that is. */
  jobs: LeasedJob[];
  bytes: number;
  hold: (() => Hold) | undefined;
  /** The queue that it visits. Beyond the last one it waits. */
  visit: number;
  /** It has looked at one of its queues. Else all of their databases failed, and the last one with `failure`. */
  seen: boolean;
  failure: unknown;
  /** Why nobody could tell whether its session goes on. Then it gets no more jobs. */
  unsure: unknown;
  /** At its last look, memory was short, and there was room for small jobs only. */
  starved: boolean;
  /**
   * A settlement of the same consumer, in the round trip in which it first looks. If it leaves that trip, it waits for
   * this.
   */
  settling: Promise<unknown> | undefined;
  /**
   * Where it had its row of dibs.repeatable_claims at some time. So a request that has a row now came later. Only a
   * claim with a name has rows.
   */
  owned: Set<Db> | undefined;
  /** Its `wait_seconds`. */
  timer: NodeJS.Timeout | undefined;
  answered: Promise<LeasedJob[]>;
  answer(jobs: LeasedJob[]): void;
  refuse(error: unknown): void;
}

/** Where a claim looks, in its order. */
export const queuesOf = (request: ClaimRequest): string[] =>
  request.queues ? [...new Set(request.queues)] : ['default'];

/** A claim that has not looked anywhere yet. */
export function newClaim(request: ClaimRequest, name: ClaimName | undefined): Claim {
  const queues = queuesOf(request);
  let answer: Claim['answer'] = () => undefined;
  let refuse: Claim['refuse'] = () => undefined;
  const answered = new Promise<LeasedJob[]>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  return {
    arrival: Number.POSITIVE_INFINITY,
    state: 'visiting',
    wish: request.wait_seconds ? 'wait' : 'look',
    queues,
    by: request.by,
    limit: request.limit ?? 1,
    lease_seconds: request.lease_seconds,
    worker: request.worker,
    session: request.session,
    askers: askers(),
    name,
    jobs: [],
    bytes: 0,
    hold: request.hold,
    visit: 0,
    seen: false,
    failure: undefined,
    unsure: undefined,
    starved: false,
    settling: request.settling,
    owned: name && new Set(),
    timer: undefined,
    answered,
    answer,
    refuse,
  };
}

/** How many jobs a claim may still lease. */
export const slotsOf = (claim: Claim): number => claim.limit - claim.jobs.length;

/** Lowers what the claim may still do. A claim that may do less already stays as it is. */
export function wantOnly(claim: Claim, wish: Wish): void {
  if (WISHES.indexOf(wish) > WISHES.indexOf(claim.wish)) claim.wish = wish;
}

/** It gets no more jobs. */
export const isGivenUp = ({ wish }: Claim): boolean =>
  wish === 'taken' || wish === 'ended' || wish === 'gone';

/** Whether it has looked at all of its queues. */
export const hasLooked = (claim: Claim): boolean => claim.visit === claim.queues.length;

/** The claim has come out of a statement, and is not answered yet. */
export function backInLine(claim: Claim): void {
  claim.state = hasLooked(claim) ? 'waiting' : 'visiting';
}
