import type { Refusal } from '../errors.ts';
import type { Job, RawJson } from '../job.ts';
import type { Signed } from './callers.ts';
import type { ClaimRequest, LeasedJob } from './claims.ts';
import type { NewJob, PathOf } from './enqueue.ts';

/** Names the lease that a request settles or extends. */
export interface LeaseName {
  id: string;
  lease_token: string;
}

export interface Ack extends LeaseName, Signed {
  result?: RawJson;
  /** Follow-ups: they are inserted in the same transaction. */
  enqueue?: NewJob[];
}

export interface Nack extends LeaseName, Signed {
  error?: string;
  /** In place of the backoff. */
  delay_seconds?: number;
  /** False: the job is dead now. */
  retry?: boolean;
  enqueue?: NewJob[];
}

export interface Release extends LeaseName, Signed {
  delay_seconds?: number;
}

export interface Extend extends LeaseName {
  /** From now on. */
  lease_seconds: number;
  progress?: RawJson;
}

/** The answer to an ack. */
export interface Acked {
  id: string;
  state: 'completed';
  group?: string | null | undefined;
  /** The follow-ups that were inserted with the ack. */
  enqueued: Job[];
}

/** The answer to a nack. */
export interface Nacked extends Job {
  /** The follow-ups that were inserted with the nack. It is missing when the nack had no `enqueue`. */
  enqueued?: Job[];
}

/** The answer to an extend. */
export interface Extended {
  id: string;
  state: 'leased';
  lease_expires_at: string;
  cancel_requested: boolean;
}

/** Verbs for many leases in one request: up to 1000 items together. */
export interface SettleRequest extends Signed {
  acks?: Ack[] | undefined;
  nacks?: Nack[] | undefined;
  releases?: Release[] | undefined;
  extends?: Extend[] | undefined;
}

/** The answer for one item: that of the single call, or its refusal. */
export type ItemAnswer<Result> = { id: string; result: Result } | { id: string; refusal: Refusal };

/** The answers for the items of each list, in the order of the request. */
export interface Settled {
  acks: ItemAnswer<Acked>[];
  nacks: ItemAnswer<Nacked>[];
  releases: ItemAnswer<Job>[];
  extends: ItemAnswer<Extended>[];
}

/** A worker's whole loop: what became of its last jobs, and its wish for the next ones. */
export interface SettleAndClaimRequest extends SettleRequest {
  claim: ClaimRequest;
}

export interface SettledAndClaimed extends Settled {
  jobs: LeasedJob[];
  /** Why the claim was refused. */
  refusal: Refusal | undefined;
}

/**
 * What became of a lease. A lease that ran out still settles, until another worker holds the job. Each verb is one
 * commit, and throws `job_not_found` for a job that is gone, `lease_lost` for a lease that is over, and `unavailable`.
 */
export interface SettleVerbs {
  /**
   * The job is done. It is deleted, or kept as `completed` while the queue's retention lasts.
   * Guarantee: its follow-ups exist if and only if the ack counted. A repeat is answered the same, while the job is
   * kept.
   * @throws Refusal also `invalid_request` and `queue_full` for a follow-up
   */
  ack(request: Ack & { at: PathOf }): Promise<Acked>;

  /** The attempt failed. The job is `scheduled` or `ready` again, or dead: out of attempts, or not to be retried. */
  nack(request: Nack & { at: PathOf }): Promise<Nacked>;

  /** The job goes back unworked: the attempt is not charged. */
  release(request: Release): Promise<Job>;

  /** The lease ends `lease_seconds` from now, also when it ran out. One that was taken back is lost. */
  extend(request: Extend): Promise<Extended>;

  /**
   * Settles and extends many. Each item is answered by itself. A follow-up that would be refused refuses all, before
   * anything is settled. Over several databases, an outage of one refuses its items only.
   * @throws Refusal `unavailable`, with the outcome `unknown` when other items may be settled. Over several databases:
   * when an outage refuses every item
   */
  settle(request: SettleRequest): Promise<Settled>;

  /**
   * Settles, and then claims. When the claim is refused, what is settled stays settled, and the answer has the refusal.
   * @throws Refusal as `settle`; over several databases only when an outage refuses the claim, too
   */
  settleAndClaim(request: SettleAndClaimRequest): Promise<SettledAndClaimed>;
}
