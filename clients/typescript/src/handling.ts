import { messageOf, STACK } from './errorText.ts';
import type { WorkerEvent } from './events.ts';
import type { LeasedJob } from './generated.ts';
import { Nack, type Outcome, outcomeOf, ownOutcome, Release, Undecodable } from './outcome.ts';
import { oneLine } from './reporting.ts';
import type { Run } from './run.ts';
import type { WorkerOptions } from './workerOptions.ts';

export async function decoded(job: LeasedJob, decode?: WorkerOptions['decode']): Promise<unknown> {
  const text = job.payload_text as string;
  try {
    return decode ? await decode(text, job) : JSON.parse(text);
  } catch (error) {
    throw new Undecodable(error);
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

/** What a nack means for its job. */
export function failureOf({ job, signalled }: Run, nack: Nack): WorkerEvent {
  // Below the text of an error, its stack.
  const [text = ''] = messageOf(nack).split(STACK);
  const reason =
    nack instanceof Undecodable ? 'its payload cannot be decoded: see last_error' : oneLine(text);
  const isDead = nack.retry === false || job.attempt >= job.max_attempts;
  const next = signalled === 'cancel_requested' ? 'cancelled' : isDead ? 'dead' : 'retry';
  return { type: 'failed', job, reason, next, retryInSeconds: nack.delaySeconds };
}
