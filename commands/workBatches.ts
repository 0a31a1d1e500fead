import type { WorkerJob } from '../clients/typescript/src/index.ts';
import type { Ended } from './program.ts';

interface Batch {
  jobs: WorkerJob[];
  ended: Promise<Ended>;
}

/** Jobs that were claimed together come within this time. */
const GATHER_MS = 20;

/** Gathers jobs into batches of up to `size`, and runs up to `most` of these at once. */
export function createBatches(
  size: number,
  most: number,
  run: (jobs: WorkerJob[], signal: AbortSignal) => Promise<Ended>,
) {
  let open: Batch | undefined;
  let running = 0;
  const waiting: (() => void)[] = [];

  async function place(): Promise<void> {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
  }

  async function begin(batch: Batch): Promise<Ended> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    await place();
    if (open === batch) open = undefined;
    try {
      // The command ends when any of its jobs must: it does them all.
      return await run(batch.jobs, AbortSignal.any(batch.jobs.map((job) => job.signal)));
    } finally {
      running--;
      waiting.shift()?.();
    }
  }

  return {
    add(job: WorkerJob): Promise<Ended> {
      if (!open || open.jobs.length >= size) {
        const batch = { jobs: [] as WorkerJob[] } as Batch;
        open = batch;
        batch.ended = begin(batch);
      }
      open.jobs.push(job);
      return open.ended;
    },
  };
}
