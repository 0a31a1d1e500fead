import type { Job } from '../job.ts';
import type { Hold } from '../memory.ts';
import type { Signed, Waits } from './callers.ts';

/** What a consumer asks for. */
export interface ClaimRequest extends Waits, Signed {
  /** Earlier names first. `default`, if they are left out. */
  queues?: string[];
  /** 1, if it is left out. At most 1000. */
  limit?: number;
  /** 0.1 to 43200. That of the queue, if it is left out. */
  lease_seconds?: number;
  /** How long to wait for the first job: 0, if it is left out, to 60. */
  wait_seconds?: number;
  worker?: string;
  /** The client's name for the claim. While a lease of it runs, the same name is answered those leases again. */
  claim_id?: string;
  /** The leases end with this session. */
  session?: string;
  /** Whose session it must be. Undefined: nobody needs a key. */
  owner?: string | undefined;
  /** What the request holds of the memory budget. */
  hold?: () => Hold;
}

/** A job with a lease, as its claim is answered. */
export interface LeasedJob extends Job {
  payload: string;
  lease_token: string;
  lease_expires_at: string;
  lease_seconds: number;
}

/** Leases out. */
export interface ClaimVerbs {
  /**
   * Leases jobs, in the order of their queues, and waits for the first if it is asked to. Where there is no job, or no
   * such queue, it answers an empty list.
   * Guarantee: no two leases of a job run at once. Claims that wait are served in the order of arrival. A claim whose
   * client is gone gets no job. Jobs that it has leased already go back, and their attempts are not charged.
   * @throws Refusal `invalid_request`, `session_not_found`, `overloaded`, `unavailable`
   */
  claim(request: ClaimRequest): Promise<LeasedJob[]>;
}
