import { askers, runFor } from '../askers.ts';
import { isOutage, Refusal } from '../errors.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Item } from '../settle/settleBatch.ts';
import { NothingSettled } from '../settle/settleMany.ts';
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

/** A settlement takes less time than this. A lease that still runs for longer cannot run out while it is settled. */
const SETTLED_MS = 5000;

/**
 * Whether the claim may share the round trip of its acks. It may if there are only acks, and it cannot get their jobs
 * again.
 */
function mayGoAlong(
  { claim: _, acks = [], ...others }: SettleAndClaimRequest,
  leaseEnds: LeaseTimes,
): boolean {
  if (acks.some(({ enqueue }) => enqueue)) return false;
  if ([others.nacks, others.releases, others.extends].some((items = []) => items.length > 0)) return false;
  const until = performance.now() + SETTLED_MS;
  return acks.every(({ id }) => (leaseEnds.take(id) ?? 0) > until);
}

/** Begins a claim while its settlement still runs. */
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
 * Settles and claims. If possible, both share a round trip. Otherwise the claim begins when the settlement is
 * committed. If the claim is refused, what is settled stays settled: the caller is told both. See
 * docs/decisions/0044-settle-with-claim.md.
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

    /**
     * Each ack calls this when it is in a round trip. The claim joins the round trip of the last ack, if all acks are
     * of the queue that the claim looks at first.
     */
    const thenClaims = (queue: string): boolean => {
      left = queue === first ? left - 1 : Number.NaN;
      if (left === 0) along = runFor(who, () => begin(claim, asked, settling));
      return left >= 0;
    };

    let settled: Settled;
    let nothing: NothingSettled | undefined;
    try {
      settled = await settle({ ...items, acks: items.acks?.map((ack) => ({ ...ack, thenClaims })) });
    } catch (error) {
      along?.abandon();
      if (along || !(error instanceof NothingSettled)) throw error;
      // The claim may be of queues in other databases.
      nothing = error;
      settled = nothing.settled;
    } finally {
      isSettled();
    }
    try {
      const jobs = await (along?.jobs ?? claim(asked));
      // After the ack of a job of a group, the next job of that group is ready only when the ack is committed: it was
      // too early for this claim. So it looks once more. (A claim that waits is woken.)
      const again = along && jobs.length === 0 && !asked.wait_seconds && settled.acks.some(isOfGroup);
      return { ...settled, jobs: again ? await claim(asked) : jobs, refusal: undefined };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (nothing && isOutage(error)) throw nothing;
      return { ...settled, jobs: [], refusal: error };
    }
  };
