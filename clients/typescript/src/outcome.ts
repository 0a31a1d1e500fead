import { RawJson } from './caller.ts';
import { errorText, messageOf } from './errorText.ts';
import type { JobSpec } from './generated.ts';

/** The job is done. Return it from a handler that has more to say than a result. */
export class Ack {
  readonly result: unknown;
  /** Jobs that follow: inserted if and only if the ack counts. */
  readonly enqueue: JobSpec[] | undefined;
  constructor({ result, enqueue }: { result?: unknown; enqueue?: JobSpec[] } = {}) {
    this.result = result;
    this.enqueue = enqueue;
  }
}

/** The job failed. Throw it from a handler to say more than an error can. */
export class Nack extends Error {
  override name = 'Nack';
  /** false: dead at once. Default: tried again while there are attempts left. */
  readonly retry: boolean | undefined;
  /** How long the job rests. Default: what its backoff says. */
  readonly delaySeconds: number | undefined;
  /** Jobs that make up for this one: inserted if and only if this makes it dead. */
  readonly enqueue: JobSpec[] | undefined;
  constructor(
    error: string,
    {
      retry,
      delaySeconds,
      enqueue,
      cause,
    }: { retry?: boolean; delaySeconds?: number; enqueue?: JobSpec[]; cause?: unknown } = {},
  ) {
    super(error, { cause });
    this.retry = retry;
    this.delaySeconds = delaySeconds;
    this.enqueue = enqueue;
  }
}

/** What the decoder says may show the payload. */
export class Undecodable extends Nack {
  constructor(error: unknown) {
    super(`the payload cannot be decoded: ${messageOf(error)}`);
  }
}

/** The job goes back unworked. Its attempt is not charged. Throw it from a handler. */
export class Release extends Error {
  override name = 'Release';
  readonly delaySeconds: number | undefined;
  constructor({ delaySeconds }: { delaySeconds?: number } = {}) {
    super('released');
    this.delaySeconds = delaySeconds;
  }
}

export type Outcome = Ack | Nack | Release;
export type Verb = 'ack' | 'nack' | 'release';

export const verbOf = (outcome: Outcome): Verb =>
  outcome instanceof Ack ? 'ack' : outcome instanceof Nack ? 'nack' : 'release';

/** What a handler says by itself. What it throws or returns may be odd: to look at it may throw. */
export function ownOutcome(value: unknown): Outcome | undefined {
  try {
    return value instanceof Nack || value instanceof Release || value instanceof Ack ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The outcome that a thrown value stands for. */
export const outcomeOf = (error: unknown): Outcome => ownOutcome(error) ?? new Nack(errorText(error));

/** @throws if the value cannot be written as JSON */
function jsonOf(value: unknown): string {
  const text = value instanceof RawJson ? value.text : JSON.stringify(value);
  if (text === undefined) throw new TypeError(`there is no JSON of a ${typeof value}`);
  return text;
}

/** The item of `POST /jobs/settle`. @throws if the result or a follow-up cannot be written as JSON */
export function itemOf(outcome: Outcome, id: string, lease_token: string): string {
  const lease = { id, lease_token };
  if (outcome instanceof Ack) {
    const { result, enqueue } = outcome;
    const item = JSON.stringify({ ...lease, enqueue });
    return result === undefined ? item : `${item.slice(0, -1)},"result":${jsonOf(result)}}`;
  }
  if (outcome instanceof Release) return JSON.stringify({ ...lease, delay_seconds: outcome.delaySeconds });
  return JSON.stringify({
    ...lease,
    error: messageOf(outcome),
    retry: outcome.retry,
    delay_seconds: outcome.delaySeconds,
    enqueue: outcome.enqueue,
  });
}
