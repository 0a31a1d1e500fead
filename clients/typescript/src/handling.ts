import { JobSignal } from './events.ts';
import type { LeasedJob } from './generated.ts';
import { Ack, Nack, type Outcome, outcomeOf, Release } from './outcome.ts';
import type { Run } from './run.ts';
import type { WorkerOptions } from './workerOptions.ts';

export function decoded(job: LeasedJob, decode?: WorkerOptions['decode']): unknown {
  const text = job.payload_text as string;
  try {
    return decode ? decode(text, job) : JSON.parse(text);
  } catch (error) {
    throw new Nack(`the payload cannot be decoded: ${error}`);
  }
}

/** What a handler throws after its signal is no failure of the job, unless it says so itself. */
export function outcomeAfterSignal(run: Run, error: unknown): Outcome | undefined {
  const code = run.signalled;
  if (code === 'lease_lost') return undefined;
  const isOwn = error instanceof Nack || error instanceof Release || error instanceof Ack;
  if (code === undefined || isOwn) return outcomeOf(error);
  if (code === 'cancel_requested')
    return new Nack(error instanceof JobSignal ? 'cancelled' : outcomeOf(error).toString());
  return new Release();
}
