import type { WorkerJob } from '../clients/typescript/src/index.ts';
import type { Ended } from './program.ts';

interface Batch {
  jobs: WorkerJob[];
  begun: Promise<Begun>;
}

/** The command runs for these jobs of a batch. */
interface Begun {
  jobs: WorkerJob[];
  ended: Promise<Ended> | undefined;
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

  function free(): void {
    running--;
    waiting.shift()?.();
  }

  /** Jobs that are over meanwhile are left out. */
  async function begin(batch: Batch): Promise<Begun> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    await place();
    if (open === batch) open = undefined;
    const jobs = batch.jobs.filter(({ signal }) => !signal.aborted);
    if (jobs.length === 0) {
      free();
      return { jobs, ended: undefined };
    }
    // The command ends when any of its jobs must: it does them all.
    const ended = run(jobs, AbortSignal.any(jobs.map(({ signal }) => signal))).finally(free);
    return { jobs, ended };
  }

  return {
    /** @throws the reason of the job's signal, when that fired before the command began */
    async add(job: WorkerJob): Promise<Ended> {
      if (!open || open.jobs.length >= size) {
        const batch = { jobs: [] as WorkerJob[] } as Batch;
        open = batch;
        batch.begun = begin(batch);
      }
      open.jobs.push(job);
      const { jobs, ended } = await open.begun;
      if (!ended || !jobs.includes(job)) throw job.signal.reason;
      return ended;
    },
  };
}
