import { createHash, randomUUID } from 'node:crypto';
import type { Db } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { claimHandover } from '../replicas/claimHandover.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { type ClaimRequest, queuesOf } from './claim.ts';
import type { dispatcher } from './dispatcher.ts';
import { type ClaimName, type LeasedRow, toLease } from './lease.ts';
import type { LeasedJob } from './leasedJob.ts';

const claimed = prepared('claim/repeat');

type Claiming = ReturnType<typeof dispatcher>['claim'];

/** A request of a claim that is not answered yet. */
interface Attempt {
  /** Has it answered with nothing; settles when it was answered. */
  replace(): Promise<void>;
}

/** A repetition asks for the same queues; another consumer's claim of the same id elsewhere is another claim. */
export const markOf = (id: string, names: string[]) =>
  createHash('sha256')
    .update(JSON.stringify([id, ...names.toSorted()]))
    .digest('base64url')
    .slice(0, 22);

/** Claims with a `claim_id`: a repetition is answered the leases that still run, and takes the place of one that waits. */
export function repeatableClaims(context: { db: Db; queues: Queues; claim: Claiming; notifier: Notifier }) {
  const { db, queues, claim, notifier } = context;
  const open = new Map<string, Attempt>();
  const others = claimHandover({
    self: notifier.self,
    tell: notifier.ofClaims,
    replace: async (mark) => open.get(mark)?.replace(),
  });

  /** The running leases of the claim, in the order of its queues, which from now on are this request's. */
  async function leasesOf(names: string[], { id, holder }: ClaimName): Promise<LeasedJob[]> {
    const leases: LeasedJob[] = [];
    for (const name of names) {
      const queue = await queues.byName(name);
      if (!queue) continue;
      const rows = await db.query<LeasedRow>(claimed, [queue.id, id, holder]);
      rows.sort((a, b) => b.priority - a.priority || a.position - b.position);
      leases.push(...rows.map((row) => toLease(row, name)));
    }
    return leases;
  }

  function repeatableClaim(request: ClaimRequest, id: string) {
    const name = { id, holder: randomUUID() };
    const names = queuesOf(request);
    const mark = markOf(id, names);
    const before = open.get(mark);
    let replaced = false;
    let gone = false;
    let first: ReturnType<Claiming> | undefined;

    async function answer(): Promise<LeasedJob[]> {
      // One that is in its statement leases what this request then finds.
      await before?.replace();
      await others.endElsewhere(mark);
      if (replaced || gone) return [];
      const again = await leasesOf(names, name);
      if (replaced || gone) return [];
      if (again.length > 0) return again;
      first = claim(request, name);
      others.opened(mark);
      return first.jobs;
    }

    const jobs = answer().finally(() => {
      if (open.get(mark) !== attempt) return;
      open.delete(mark);
      others.closed(mark);
    });
    const answered = jobs.then(
      () => undefined,
      () => undefined,
    );
    const attempt: Attempt = {
      replace() {
        replaced = true;
        first?.replace();
        return answered;
      },
    };
    open.set(mark, attempt);

    return {
      jobs,
      /** What it found is not given back: it was leased for another request, whose consumer may be at work. */
      abandon() {
        gone = true;
        first?.abandon();
      },
    };
  }

  return {
    heard: others.heard,

    /** As the dispatcher's, which serves it. */
    claim: (request: ClaimRequest): { jobs: Promise<LeasedJob[]>; abandon(): void } =>
      request.claim_id === undefined ? claim(request) : repeatableClaim(request, request.claim_id),
  };
}
