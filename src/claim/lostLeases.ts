import { isOutage, Refusal } from '../errors.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { ClaimName } from './lease.ts';

const strays = planned('claim/lost');
const disown = planned('claim/disown');

/** A claim whose connection broke may still be running on the server; it is looked for this long. */
const SEARCH_MS = 15_000;

interface LostClaim {
  queueId: number;
  nonces: string[];
  names: ClaimName[];
  until: number;
}

interface Lease {
  id: string;
  lease_token: string;
}

/** Leases that nobody holds: their claim's answer never came from the database, or their consumer is gone. */
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
      // Settled or given to somebody else meanwhile: no stray any more.
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'unavailable') leases.push(lease);
    }
  }

  /** What this claim still answers for; its repetition finds none of it any more. */
  const disowned = (queueId: number, name: ClaimName): Promise<Lease[]> =>
    db.query<Lease>(disown, [queueId, name.id, name.holder]);

  async function releaseAll(found: Lease[]): Promise<void> {
    await Promise.all(found.map(release));
  }

  function giving(work: Promise<unknown>): void {
    const returned: Promise<unknown> = work
      .catch((error) => log(error, 'jobs could not be given back'))
      .finally(() => returning.delete(returned));
    returning.add(returned);
  }

  function claimLost(queueId: number, nonces: string[], names: ClaimName[]): void {
    claims.push({ queueId, nonces, names, until: Number.POSITIVE_INFINITY });
  }

  async function giveUp(queueId: number, name: ClaimName): Promise<void> {
    try {
      await releaseAll(await disowned(queueId, name));
    } catch (error) {
      if (!isOutage(error)) throw error;
      claimLost(queueId, [], [name]);
    }
  }

  return {
    /** Gives leases back uncharged, at once or as soon as the database answers. */
    giveBack: (found: Lease[]): void => giving(releaseAll(found)),

    /** Gives back what a claim leased in these queues, but for what its repetition answers for by now. */
    giveUp: (queueIds: number[], name: ClaimName): void =>
      giving(Promise.all(queueIds.map((queueId) => giveUp(queueId, name)))),

    /** Once what was to be given back so far has been, or could not be. */
    async returned(): Promise<void> {
      await Promise.all(returning);
    },

    /** Gives back, as soon as the database answers, whatever these claims may have leased. */
    claimLost,

    /** One round of the duty. */
    async search(): Promise<boolean> {
      const retried = leases;
      leases = [];
      await releaseAll(retried);
      for (const claim of claims) {
        if (claim.nonces.length > 0)
          await releaseAll(await db.query<Lease>(strays, [claim.queueId, claim.nonces]));
        for (const name of claim.names) await releaseAll(await disowned(claim.queueId, name));
        claim.until = Math.min(claim.until, performance.now() + SEARCH_MS);
      }
      claims = claims.filter((claim) => performance.now() < claim.until);
      return false;
    },
  };
}
