import type { Claimant } from './line.ts';
import type { LeasedJob } from './types.ts';

export interface ClaimRequest {
  queues?: string[];
  limit?: number;
  lease_seconds?: number;
  wait_seconds?: number;
  worker?: string;
}

export interface Claim extends Claimant {
  /** For each of its queues, how often the line had been woken when this claim last looked there. */
  seen: number[];
  expired: boolean;
  /** Its consumer hung up. */
  gone: boolean;
  done: boolean;
  timer: NodeJS.Timeout | undefined;
  answered: Promise<LeasedJob[]>;
  answer(jobs: LeasedJob[]): void;
  refuse(error: unknown): void;
}

/** A claim that has not looked anywhere yet; one that doesn't wait has expired from the start. */
export function newClaim(request: ClaimRequest, turn: number): Claim {
  const queues = request.queues ? [...new Set(request.queues)] : ['default'];
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
    jobs: [],
    visit: 0,
    busy: false,
    seen: queues.map(() => 0),
    expired: !request.wait_seconds,
    gone: false,
    done: false,
    timer: undefined,
    answered,
    answer,
    refuse,
  };
}
