import { isOutage, Refusal } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { ClaimName } from './claim.ts';

interface Lease {
  id: string;
  lease_token: string;
}

const statements = {
  lost: planned('claim/lost', row<Lease>()),
  unname: planned('claim/unname', row<Lease>()),
};

/** A claim whose connection broke may still be running on the server. Dibs looks for its leases this long. */
const SEARCH_MS = 15_000;

interface LostClaim {
  queueId: number;
  nonces: string[];
  names: ClaimName[];
  until: number;
}

/**
 * Gives back leases that nobody holds: the answer of their claim never came from the database, or their consumer is gone.
 * Jobs go back uncharged.
 */
export function createLostLeases(context: {
  db: Db;
  settlement: Settlement;
  log: (error: unknown, message: string) => void;
}) {
  const { db, settlement, log } = context;
  const returning = new Set<Promise<unknown>>();
  let claims: LostClaim[] = [];
  let leases: Lease[] = [];

  async function release(lease: Lease): Promise<void> {
    try {
      await settlement.release(lease);
    } catch (error) {
      // The job was settled or given to another consumer meanwhile: the lease is not lost.
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'unavailable') leases.push(lease);
    }
  }

  async function releaseAll(found: Lease[]): Promise<void> {
    await Promise.all(found.map(release));
  }

  /** Takes the leases that a claim still answers for. A repeat of it finds none of them any more. */
  const unnamed = (queueId: number, { id, holder }: ClaimName): Promise<Lease[]> =>
    db.query(statements.unname, { queue_id: queueId, claim_id: id, claim_holder: holder });

  function inBackground(work: Promise<unknown>): void {
    const done: Promise<unknown> = work
      .catch((error) => log(error, 'jobs of a lost claim were not given back'))
      .finally(() => returning.delete(done));
    returning.add(done);
  }

  function claimLost(queueId: number, nonces: string[], names: ClaimName[]): void {
    claims.push({ queueId, nonces, names, until: Number.POSITIVE_INFINITY });
  }

  async function giveBackNamed(queueId: number, name: ClaimName): Promise<void> {
    try {
      await releaseAll(await unnamed(queueId, name));
    } catch (error) {
      if (!isOutage(error)) throw error;
      claimLost(queueId, [], [name]);
    }
  }

  return {
    /**
     * Gives jobs back, at once or as soon as the database answers. Of a claim with a name only those go back that no repeat
     * answers for by now.
     */
    giveBack(jobs: Lease[], name: ClaimName | undefined): void {
      if (!name) {
        inBackground(releaseAll(jobs));
        return;
      }
      const queueIds = [...new Set(jobs.map((job) => queueIdOf(job.id) as number))];
      inBackground(Promise.all(queueIds.map((queueId) => giveBackNamed(queueId, name))));
    },

    /** Settles when all that was to be given back has been given back, or could not be. */
    async returned(): Promise<void> {
      await Promise.all(returning);
    },

    /** Gives back whatever these claims may have leased, as soon as the database answers. */
    claimLost,

    /** The duty: looks once for what is still to be given back. */
    async search(): Promise<boolean> {
      const retried = leases;
      leases = [];
      await releaseAll(retried);
      for (const claim of claims) {
        const { queueId, nonces, names } = claim;
        if (nonces.length > 0)
          await releaseAll(await db.query(statements.lost, { queue_id: queueId, nonces }));
        for (const name of names) await releaseAll(await unnamed(queueId, name));
        claim.until = Math.min(claim.until, performance.now() + SEARCH_MS);
      }
      claims = claims.filter((claim) => performance.now() < claim.until);
      return false;
    },
  };
}
