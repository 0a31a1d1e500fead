import { Refusal } from '../errors.ts';
import type { Settled, SettleRequest } from '../settle/settleMany.ts';
import { checkClaim, type HeldClaimRequest } from './claims.ts';
import type { LeasedJob } from './leasedJob.ts';

/** A worker's whole loop: what became of its last jobs, and its wish for the next ones. */
export interface SettleAndClaimRequest extends SettleRequest {
  claim: HeldClaimRequest;
}

interface Claimed {
  jobs: LeasedJob[];
  /** Why the claim was refused. */
  refusal: Refusal | undefined;
}

export interface SettledAndClaimed extends Settled, Claimed {}

const hasFollowUps = ({ acks = [], nacks = [] }: SettleRequest) =>
  [...acks, ...nacks].some(({ enqueue }) => enqueue !== undefined);

/**
 * Settles and claims in one round trip: it settles first, and its claim sees what that changed. A claim that is refused does
 * not refuse what is settled: the caller is told both. A settlement that fails as a whole gives back what the claim has leased.
 */
export function createSettleAndClaim({
  settle,
  claim,
}: {
  settle(request: SettleRequest): Promise<Settled>;
  claim(request: HeldClaimRequest): Promise<LeasedJob[]>;
}) {
  const claimed = (request: HeldClaimRequest): Promise<Claimed> =>
    claim(request).then(
      (jobs) => ({ jobs, refusal: undefined }),
      (error) => {
        if (error instanceof Refusal) return { jobs: [], refusal: error };
        throw error;
      },
    );

  async function together(items: SettleRequest, asked: HeldClaimRequest): Promise<SettledAndClaimed> {
    let giveUp = () => {};
    const onHangup = (gone: () => void) => {
      giveUp = gone;
      asked.onHangup?.(gone);
    };
    const settling = settle(items);
    const claiming = claimed({ ...asked, onHangup });
    claiming.catch(() => undefined);
    const settled = await settling.catch((error) => {
      giveUp();
      throw error;
    });
    return { ...settled, ...(await claiming) };
  }

  return async ({ claim: asked, ...items }: SettleAndClaimRequest): Promise<SettledAndClaimed> => {
    checkClaim(asked, '/claim');
    // Follow-ups may be refused before anything is settled. Then there is nothing to give back.
    if (hasFollowUps(items)) {
      const settled = await settle(items);
      return { ...settled, ...(await claimed(asked)) };
    }
    const both = await together(items, asked);
    const isEmpty = both.jobs.length === 0 && !both.refusal;
    // The settlement may have made a job ready behind the claim: the next one of its group. A claim that waits is woken then.
    return isEmpty && !asked.wait_seconds ? { ...both, ...(await claimed(asked)) } : both;
  };
}
