import type { ClaimName } from './lease.ts';
import type { LeasedJob } from './leasedJob.ts';
import type { Claimant } from './waitLine.ts';

export interface ClaimRequest {
  queues?: string[];
  limit?: number;
  lease_seconds?: number;
  wait_seconds?: number;
  worker?: string;
  claim_id?: string;
}

/** Where a claim looks, in its order. */
export const queuesOf = (request: ClaimRequest): string[] =>
  request.queues ? [...new Set(request.queues)] : ['default'];

export interface Claim extends Claimant {
  /** For each of its queues, how often the line had been woken when this claim last looked there. */
  seen: number[];
  expired: boolean;
  /** Its consumer hung up. */
  gone: boolean;
  /** It was repeated: what it leases is for the repetition, which it does not wait for. */
  replaced: boolean;
  done: boolean;
  timer: NodeJS.Timeout | undefined;
  answered: Promise<LeasedJob[]>;
  answer(jobs: LeasedJob[]): void;
  refuse(error: unknown): void;
}

/** A claim that has not looked anywhere yet; one that doesn't wait has expired from the start. */
export function newClaim(request: ClaimRequest, name: ClaimName | undefined, turn: number): Claim {
  const queues = queuesOf(request);
  let answer: Claim['answer'] = () => undefined;
  let refuse: Claim['refuse'] = () => undefined;
  const answered = new Promise<LeasedJob[]>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  return {
    turn,
    queues,
    limit: request.limit ?? 1,
    lease_seconds: request.lease_seconds,
    worker: request.worker,
    name,
    jobs: [],
    visit: 0,
    busy: false,
    seen: queues.map(() => 0),
    expired: !request.wait_seconds,
    gone: false,
    replaced: false,
    done: false,
    timer: undefined,
    answered,
    answer,
    refuse,
  };
}
