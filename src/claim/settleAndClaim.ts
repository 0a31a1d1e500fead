import { askers, runFor } from '../askers.ts';
import { Refusal } from '../errors.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Item } from '../settle/settleBatch.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type {
  Ack,
  Acked,
  ItemAnswer,
  SettleAndClaimRequest,
  Settled,
  SettledAndClaimed,
  SettleRequest,
} from '../verbs/settle.ts';
import { type ClaimRequest, queuesOf } from './claim.ts';
import { checkClaim } from './claims.ts';

interface Verbs {
  settle(request: SettleRequest & { acks?: (Ack & Item)[] | undefined }): Promise<Settled>;
  claim(request: ClaimRequest): Promise<LeasedJob[]>;
  /** When each lease that this replica gave runs out, on the clock of this process. */
  leaseEnds: LeaseTimes;
}

/** A settlement takes less time than this. So a lease that runs for longer does not run out meanwhile. */
const SETTLED_MS = 5000;

/** Whether the claim may go in the round trip of its acks: nothing else is settled, and it cannot get their jobs. */
function mayGoAlong(
  { claim: _, acks = [], ...others }: SettleAndClaimRequest,
  leaseEnds: LeaseTimes,
): boolean {
  if (acks.some(({ enqueue }) => enqueue)) return false;
  if ([others.nacks, others.releases, others.extends].some((items = []) => items.length > 0)) return false;
  const until = performance.now() + SETTLED_MS;
  return acks.every(({ id }) => (leaseEnds.take(id) ?? 0) > until);
}

/** Begins a claim before it is known what its settlement comes to. */
function begin(claim: Verbs['claim'], asked: ClaimRequest, settling: Promise<unknown>) {
  let abandon: () => void = () => undefined;
  const onHangup = (gone: () => void) => {
    abandon = gone;
    asked.onHangup?.(gone);
  };
  const jobs = claim({ ...asked, settling, onHangup });
  jobs.catch(() => undefined);
  return { jobs, abandon: () => abandon() };
}

const isOfGroup = (answer: ItemAnswer<Acked>): boolean =>
  'result' in answer && typeof answer.result.group === 'string';

/**
 * Settles and claims. The claim goes in the round trip of the settlement where that is possible, and otherwise when the
 * settlement is committed. A claim that is refused does not refuse what is settled: the caller is told both.
 * See docs/decisions/0044-settle-with-claim.md.
 */
export const createSettleAndClaim =
  ({ settle, claim, leaseEnds }: Verbs) =>
  async (request: SettleAndClaimRequest): Promise<SettledAndClaimed> => {
    const { claim: asked, ...items } = request;
    checkClaim(asked, '/claim');
    const who = askers();
    const [first] = queuesOf(asked);
    let left = mayGoAlong(request, leaseEnds) ? (items.acks ?? []).length : Number.NaN;
    let along: ReturnType<typeof begin> | undefined;
    let isSettled: () => void = () => undefined;
    const settling = new Promise<void>((resolve) => {
      isSettled = resolve;
    });

    /** Each ack tells when it is in a round trip. The claim goes with the last, if all are of the queue that it looks at first. */
    const thenClaims = (queue: string): boolean => {
      left = queue === first ? left - 1 : Number.NaN;
      if (left === 0) along = runFor(who, () => begin(claim, asked, settling));
      return left >= 0;
    };

    let settled: Settled;
    try {
      settled = await settle({ ...items, acks: items.acks?.map((ack) => ({ ...ack, thenClaims })) });
    } catch (error) {
      along?.abandon();
      throw error;
    } finally {
      isSettled();
    }
    try {
      const jobs = await (along?.jobs ?? claim(asked));
      // The next job of a group could not be claimed before the ack was committed. A claim that waits is woken for it.
      const again = along && jobs.length === 0 && !asked.wait_seconds && settled.acks.some(isOfGroup);
      return { ...settled, jobs: again ? await claim(asked) : jobs, refusal: undefined };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ...settled, jobs: [], refusal: error };
    }
  };
