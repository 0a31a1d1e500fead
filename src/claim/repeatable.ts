import { createHash, randomUUID } from 'node:crypto';
import { sizeOf } from '../job.ts';
import { COPIES } from '../memory.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { createClaimHandover } from '../replicas/claimHandover.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { type ClaimName, type ClaimRequest, queuesOf } from './claim.ts';

import { type LeasedJob, type LeasedRow, toLease } from './leasedJob.ts';
import type { OpenClaim } from './openClaims.ts';

const repeat = prepared('claim/repeat', row<Omit<LeasedRow, 'slot'>>());

type MakeClaim = (request: ClaimRequest, name?: ClaimName) => OpenClaim;

/** A request with a `claim_id` that is not answered yet. */
interface Attempt {
  /** Has it answered with nothing. Settles when it was answered. */
  replace(): Promise<void>;
}

/** Names a claim and its queues. The same claim_id at other queues is another claim, of another consumer. */
export const markOf = (id: string, queues: string[]) =>
  createHash('sha256')
    .update(JSON.stringify([id, ...queues.toSorted()]))
    .digest('base64url')
    .slice(0, 22);

/** Makes claims that may have a `claim_id`: a repeat is answered the leases that still run, and replaces a request that waits. */
export function repeatableClaims(context: { db: Db; queues: Queues; claim: MakeClaim; notifier: Notifier }) {
  const { db, queues, claim, notifier } = context;
  const open = new Map<string, Attempt>();
  const handover = createClaimHandover({
    self: notifier.self,
    tell: notifier.aboutClaims,
    replace: async (mark) => open.get(mark)?.replace(),
  });

  /** The running leases of a claim, in the order of its queues. From now on they belong to this request. */
  async function leasesOf(names: string[], { id, holder }: ClaimName): Promise<LeasedJob[]> {
    const leases: LeasedJob[] = [];
    for (const name of names) {
      const queue = await queues.byName(name);
      if (!queue) continue;
      const rows = await db.query(repeat, { queue_id: queue.id, claim_id: id, claim_holder: holder });
      rows.sort((a, b) => b.priority - a.priority || a.position - b.position);
      leases.push(...rows.map((row) => toLease(row, name)));
    }
    return leases;
  }

  function repeatableClaim(request: ClaimRequest, id: string): Omit<OpenClaim, 'replace'> {
    const name = { id, holder: randomUUID() };
    const names = queuesOf(request);
    const mark = markOf(id, names);
    const before = open.get(mark);
    let replaced = false;
    let gone = false;
    let made: OpenClaim | undefined;

    async function answer(): Promise<LeasedJob[]> {
      // If the older request is in its statement, this request finds what it leases.
      await before?.replace();
      await handover.endElsewhere(mark);
      if (replaced || gone) return [];
      const again = await leasesOf(names, name);
      if (replaced || gone) return [];
      if (again.length > 0) {
        const bytes = again.reduce((sum, job) => sum + sizeOf(job), 0);
        request.hold?.().take(bytes * (COPIES - 1));
        return again;
      }
      made = claim(request, name);
      handover.opened(mark);
      return made.jobs;
    }

    const jobs = answer().finally(() => {
      if (open.get(mark) !== attempt) return;
      open.delete(mark);
      handover.closed(mark);
    });
    const answered = jobs.then(
      () => undefined,
      () => undefined,
    );
    const attempt: Attempt = {
      replace() {
        replaced = true;
        made?.replace();
        return answered;
      },
    };
    open.set(mark, attempt);

    return {
      jobs,
      /** The leases that it found are not given back. They were made for another request, whose consumer may be at work. */
      abandon() {
        gone = true;
        made?.abandon();
      },
    };
  }

  return {
    /** Another replica said something about claims. */
    heard: handover.heard,

    claim: (request: ClaimRequest): Omit<OpenClaim, 'replace'> =>
      request.claim_id === undefined ? claim(request) : repeatableClaim(request, request.claim_id),
  };
}
