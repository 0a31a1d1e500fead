import { messageOf } from './errorText.ts';
import type { LeasedJob } from './generated.ts';
import { Nack, type Outcome, outcomeOf, ownOutcome, Release } from './outcome.ts';
import type { Run } from './run.ts';
import type { WorkerOptions } from './workerOptions.ts';

export async function decoded(job: LeasedJob, decode?: WorkerOptions['decode']): Promise<unknown> {
  const text = job.payload_text as string;
  try {
    return decode ? await decode(text, job) : JSON.parse(text);
  } catch (error) {
    throw new Nack(`the payload cannot be decoded: ${messageOf(error)}`);
  }
}

/** What a handler throws after its signal is no failure of the job, unless it says so itself. */
export function outcomeAfterSignal(run: Run, error: unknown): Outcome | undefined {
  const code = run.signalled;
  if (code === 'lease_lost') return undefined;
  if (code === undefined || ownOutcome(error)) return outcomeOf(error);
  if (code === 'cancel_requested')
    return error === run.signal.reason ? new Nack('cancelled') : outcomeOf(error);
  return new Release();
}
