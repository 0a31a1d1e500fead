/** Every code that a refusal can carry; stable, for programs. */
export type RefusalCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'job_not_found'
  | 'queue_not_found'
  | 'schedule_not_found'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'lease_lost'
  | 'job_leased'
  | 'job_finished'
  | 'queue_not_empty'
  | 'unique_key_taken'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_key_reused'
  | 'queue_full'
  | 'internal'
  | 'unavailable';

/** Where a request is wrong: `path` is a JSON pointer (RFC 6901) into the part `in`, empty for the whole. */
export interface FieldError {
  in: 'body' | 'query' | 'path' | 'header';
  path: string;
  message: string;
}

/** A request that is not carried out, for a reason that its sender can read. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly errors: FieldError[] | undefined;

  constructor(code: RefusalCode, detail: string, errors?: FieldError[]) {
    super(detail);
    this.name = 'Refusal';
    this.code = code;
    this.errors = errors;
  }
}

export const invalidRequest = (errors: [FieldError, ...FieldError[]]) =>
  new Refusal('invalid_request', errors.map((e) => `${e.in} ${e.path} ${e.message}`).join('; '), errors);

export const jobNotFound = (id: string) =>
  new Refusal(
    'job_not_found',
    `There is no job ${JSON.stringify(id)}: it never was, or it is done and not kept.`,
  );

export const queueNotFound = (name: string) =>
  new Refusal('queue_not_found', `There is no queue ${JSON.stringify(name)}.`);

export const scheduleNotFound = (name: string) =>
  new Refusal('schedule_not_found', `There is no schedule ${JSON.stringify(name)}.`);

export const leaseLost = (id: string) =>
  new Refusal(
    'lease_lost',
    `This lease of job ${id} is over: it was given back, or somebody else holds the job.`,
  );

export const jobLeased = (id: string) => new Refusal('job_leased', `Job ${id} is with a worker.`);

export const jobFinished = (id: string, state: string) =>
  new Refusal('job_finished', `Job ${id} is ${state} already.`);

export const uniqueKeyTaken = (id: string) =>
  new Refusal('unique_key_taken', `Another unfinished job has the unique key of job ${id}.`);

export const queueNotEmpty = (name: string) =>
  new Refusal(
    'queue_not_empty',
    `Queue ${name} still has jobs; delete it with ?force=true to delete them too.`,
  );

export const payloadTooLarge = (detail: string, errors?: FieldError[]) =>
  new Refusal('payload_too_large', detail, errors);

export const idempotencyKeyReused = (key: string) =>
  new Refusal(
    'idempotency_key_reused',
    `The Idempotency-Key ${JSON.stringify(key)} was used with another body within the last 24 hours.`,
  );

export const queueFull = (name: string) =>
  new Refusal(
    'queue_full',
    `Queue ${name} has no room for these jobs: it holds as many as its max_ready lets in.`,
  );

export const unavailable = (detail = 'The database does not answer.') => new Refusal('unavailable', detail);

/** More waits here already than memory should be given to; what is refused now has not begun. */
export const overloaded = () =>
  unavailable('More requests wait for the database than can be held; nothing was done.');

export const isOutage = (error: unknown) => error instanceof Refusal && error.code === 'unavailable';

/** Thrown when a cached queue turns out to be deleted; the caller resolves the name anew. */
export class QueueGone extends Error {}
