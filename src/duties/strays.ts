import type { Db } from '../db.ts';
import { Refusal } from '../errors.ts';
import type { Settlement } from '../settle.ts';
import { planned } from '../sql.ts';

const strays = planned('strays');

/** A claim whose connection broke may still be running on the server; it is looked for this long. */
const SEARCH_MS = 15_000;

interface LostClaim {
  queueId: number;
  nonces: string[];
  until: number;
}

interface Lease {
  id: string;
  lease_token: string;
}

/** Leases that nobody holds: their claim's answer never came from the database, or their consumer is gone. */
export function strayLeases(context: {
  db: Db;
  settlement: Settlement;
  log: (error: unknown, message: string) => void;
}) {
  const { db, settlement, log } = context;
  const returning = new Set<Promise<void>>();
  let claims: LostClaim[] = [];
  let leases: Lease[] = [];

  async function release(lease: Lease): Promise<void> {
    try {
      await settlement.release(lease);
    } catch (error) {
      // Settled or given to somebody else meanwhile: no stray any more.
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'unavailable') leases.push(lease);
    }
  }

  async function releaseAll(found: Lease[]): Promise<void> {
    await Promise.all(found.map(release));
  }

  return {
    /** Gives leases back uncharged, at once or as soon as the database answers. */
    giveBack(found: Lease[]): void {
      const returned = releaseAll(found)
        .catch((error) => log(error, 'jobs could not be given back'))
        .finally(() => returning.delete(returned));
      returning.add(returned);
    },

    /** Once what was to be given back so far has been, or could not be. */
    async returned(): Promise<void> {
      await Promise.all(returning);
    },

    /** Gives back, as soon as the database answers, whatever these claims may have leased. */
    claimLost(queueId: number, nonces: string[]): void {
      claims.push({ queueId, nonces, until: Number.POSITIVE_INFINITY });
    },

    /** One round of the duty. */
    async search(): Promise<boolean> {
      const retried = leases;
      leases = [];
      await releaseAll(retried);
      for (const claim of claims) {
        await releaseAll(await db.query<Lease>(strays, [claim.queueId, claim.nonces]));
        claim.until = Math.min(claim.until, performance.now() + SEARCH_MS);
      }
      claims = claims.filter((claim) => performance.now() < claim.until);
      return false;
    },
  };
}
