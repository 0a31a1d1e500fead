import type { Problem } from './generated.ts';

/** Dibs refused a request. `code` is for programs, and stable: see docs/problems.md of Dibs. */
export class DibsError extends Error {
  override name = 'DibsError';
  readonly code: string;
  readonly status: number;
  readonly problem: Problem;
  /** The server's Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether the same request may work a little later. */
  readonly passes: boolean;

  constructor(problem: Problem, retryAfterSeconds?: number, passes: boolean = passesByItself(problem)) {
    super(problem.detail || problem.title || problem.code);
    this.code = problem.code;
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
    this.passes = passes;
  }
}

/** No answer came: the connection broke, or it took too long. What was asked for may have been done. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
  readonly code = 'connection';
}

/** Only Dibs can refuse something for good. A proxy before it says nothing of what was asked. */
export const isOfDibs = ({ type, code }: Partial<Problem>): boolean =>
  typeof code === 'string' && typeof type === 'string' && type.startsWith('urn:problem-type:dibs:');

/** The URL is wrong, or a proxy takes no such body: that stays, whoever says so. */
const STAYS = [301, 308, 413];

/** See "Which failures pass" in docs/workers.md. Of a 401, the client knows more: whether its key was accepted before. */
const passesByItself = (problem: Problem): boolean =>
  problem.status >= 500 ||
  problem.status === 429 ||
  problem.status === 408 ||
  (!isOfDibs(problem) && !STAYS.includes(problem.status));

/** Whether the same request may work a little later. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof DibsError && error.passes);

/** Whether the request may have been done, though it failed. */
export const mayBeDone = (error: unknown): boolean =>
  !(error instanceof DibsError) ||
  !isOfDibs(error.problem) ||
  (error.status >= 500 && error.problem.outcome !== 'not_done');

/** Whether Dibs says that a job is in other hands, or gone. Another 404 or 409 of an item is about a batch or queue of its follow-ups. */
export const isLeaseOver = (code: string): boolean => code === 'job_not_found' || code === 'lease_lost';

/** What Dibs refuses of a settlement. The rest is about who sends it, and where. */
export type Refused = 'the way' | 'the sender' | 'the content';

export function refusedBy({ status, code }: DibsError): Refused {
  if (status === 301 || status === 308 || status === 405 || code === 'route_not_found') return 'the way';
  return status === 401 || status === 403 ? 'the sender' : 'the content';
}
