import { Refusal } from '../errors.ts';
import type { Settled, SettleRequest } from '../settle/settleMany.ts';
import { checkClaim, type HeldClaimRequest } from './claims.ts';
import type { LeasedJob } from './leasedJob.ts';

/** A worker's whole loop: what became of its last jobs, and its wish for the next ones. */
export interface SettleAndClaimRequest extends SettleRequest {
  claim: HeldClaimRequest;
}

export interface SettledAndClaimed extends Settled {
  jobs: LeasedJob[];
  /** Why the claim was refused. */
  refusal: Refusal | undefined;
}

/**
 * Settles, and claims when that is committed. A claim that is refused does not refuse what is settled already: the caller
 * is told both.
 */
export const createSettleAndClaim =
  ({
    settle,
    claim,
  }: {
    settle(request: SettleRequest): Promise<Settled>;
    claim(request: HeldClaimRequest): Promise<LeasedJob[]>;
  }) =>
  async ({ claim: asked, ...items }: SettleAndClaimRequest): Promise<SettledAndClaimed> => {
    checkClaim(asked, '/claim');
    const acks = items.acks?.map((ack) => ({ ...ack, thenClaims: true as const }));
    const settled = await settle({ ...items, acks });
    try {
      return { ...settled, jobs: await claim(asked), refusal: undefined };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ...settled, jobs: [], refusal: error };
    }
  };
