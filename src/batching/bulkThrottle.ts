import { setTimeout as sleep } from 'node:timers/promises';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { restAfter } from '../shareOfTime.ts';

/** A replica serves claims if it answered one with jobs within this time. Then bulk work gives way. */
const SERVING_MS = 500;
/** While claims are served, chunks get the size that takes about this long. */
const CHUNK_MS = 5;
/** The smallest and the largest chunk, in rows. */
const FEWEST = 200;
const MOST = 1000;

/** Runs the work of one chunk of up to `size` rows. The work returns the number of rows that it had. */
export type Chunk = (work: (size: number) => Promise<number>) => Promise<number>;

/**
 * Lets bulk work (purges, redrives, sweeps) run beside a steady load. At full speed, bulk work keeps a processor of the
 * database busy, and claims that share it had a p99 six times as high. So while this replica serves claims, chunks are
 * small, all bulk work runs one chunk at a time, and each chunk is followed by a rest. Otherwise chunks are large, and
 * nothing holds them up.
 */
export function createBulkThrottle() {
  let servedAt = Number.NEGATIVE_INFINITY;
  /** One chunk at a time, and a rest after each. When one finds the database away, those that wait fail, too. */
  const inTurn = createSemaphore(1);

  const serving = () => performance.now() - servedAt < SERVING_MS;

  return {
    /** A claim was answered with jobs. */
    served(): void {
      servedAt = performance.now();
    },

    /** Runs the chunks of one piece of bulk work. It learns the size that takes CHUNK_MS. */
    chunks(): Chunk {
      let fitting = FEWEST;

      async function measured(work: (size: number) => Promise<number>): Promise<number> {
        const size = fitting;
        const started = performance.now();
        const rows = await work(size);
        const ms = performance.now() - started;
        if (rows === size) fitting = Math.round(Math.min(MOST, Math.max(FEWEST, (size * CHUNK_MS) / ms)));
        return rows;
      }

      return async (work) => {
        if (!serving()) return work(MOST);
        return new Promise((resolve, reject) => {
          inTurn(async () => {
            const started = performance.now();
            try {
              resolve(await measured(work));
            } catch (error) {
              reject(error);
              // Its own dead entries may be many. Those that wait have others.
              if (!isTimeLimit(error)) throw error;
            }
            await sleep(restAfter(performance.now() - started, 'bulk work'));
          }).catch(reject);
        });
      };
    },
  };
}

export type BulkThrottle = ReturnType<typeof createBulkThrottle>;
