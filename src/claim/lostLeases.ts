import { isOutage, Refusal } from '../errors.ts';
import type { Ledger } from '../ledger.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { ClaimName } from './claim.ts';
import { type Lease, leaveClaim } from './claimRows.ts';

const lost = planned('claim/lost', row<Lease>());

/** After its connection broke, a claim may still run on the server. Dibs looks for its leases for this long. */
const SEARCH_MS = 15_000;

/** The claims of a statement that may have leased jobs: by nonce, and those with a claim_id by name. */
interface LostClaims {
  queueId?: number;
  nonces: string[];
  names: ClaimName[];
  until: number;
}

/**
 * Gives back lost leases: the answer of the database never came, or the consumer hung up. Their jobs go back uncharged.
 */
export function createLostLeases(context: {
  db: Database;
  settlement: Settlement;
  ledger: Ledger;
  log: (error: unknown, message: string) => void;
}) {
  const { db, settlement, ledger, log } = context;
  const returning = new Set<Promise<unknown>>();
  ledger.count('leases_given_back', () => returning.size);
  let claims: LostClaims[] = [];
  let leases: Lease[] = [];

  async function release(lease: Lease): Promise<void> {
    try {
      await settlement.release(lease);
    } catch (error) {
      // The job was settled or given to another consumer meanwhile: the lease is not lost.
      if (!(error instanceof Refusal)) throw error;
      if (isOutage(error)) leases.push(lease);
    }
  }

  async function releaseAll(found: Lease[]): Promise<void> {
    await Promise.all(found.map(release));
  }

  function inBackground(work: Promise<unknown>): void {
    const done: Promise<unknown> = work
      .catch((error) => log(error, 'jobs of a lost claim were not given back'))
      .finally(() => returning.delete(done));
    returning.add(done);
  }

  function claimLost(queueId: number, nonces: string[], names: ClaimName[]): void {
    claims.push({ queueId, nonces, names, until: Number.POSITIVE_INFINITY });
  }

  async function leave(name: ClaimName): Promise<void> {
    try {
      await releaseAll(await leaveClaim(db, name));
    } catch (error) {
      if (!isOutage(error)) throw error;
      claims.push({ nonces: [], names: [name], until: Number.POSITIVE_INFINITY });
    }
  }

  return {
    /** Gives jobs back, at once or as soon as the database answers. */
    giveBack: (jobs: Lease[]): void => inBackground(releaseAll(jobs)),

    /** The consumer of this request is gone. What its claim leased goes back, unless another request answers for it. */
    leave: (name: ClaimName): void => inBackground(leave(name)),

    /** Settles when nothing is being given back any more. */
    async returned(): Promise<void> {
      await Promise.all(returning);
    },

    /** Notes claims that may have leased jobs. The duty gives those jobs back, as soon as the database answers. */
    claimLost,

    /** The duty: looks once for what is still to be given back. */
    async search(): Promise<boolean> {
      const retried = leases;
      leases = [];
      await releaseAll(retried);
      for (const claim of claims) {
        const { queueId, nonces, names } = claim;
        if (queueId !== undefined && nonces.length > 0)
          await releaseAll(await db.query(lost, { queue_id: queueId, nonces }));
        for (const name of names) await releaseAll(await leaveClaim(db, name));
        claim.until = Math.min(claim.until, performance.now() + SEARCH_MS);
      }
      claims = claims.filter((claim) => performance.now() < claim.until);
      return false;
    },
  };
}
