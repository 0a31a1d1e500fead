import type { Problem } from './generated.ts';

/** Dibs refused a request. `code` is for programs, and stable: see docs/problems.md of Dibs. */
export class DibsError extends Error {
  override name = 'DibsError';
  readonly code: string;
  readonly status: number;
  readonly problem: Problem;
  /** The server's Retry-After. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: Problem, retryAfterSeconds?: number) {
    super(problem.detail || problem.title || problem.code);
    this.code = problem.code;
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** No answer came: the connection broke, or it took too long. What was asked for may have been done. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
  readonly code = 'connection';
}

/** Whether the same request may work a little later. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof DibsError && (error.status >= 500 || error.status === 429 || error.status === 408));

/** Whether the request may have been done, though it failed. */
export const mayBeDone = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof DibsError && error.status >= 500 && error.problem.outcome !== 'not_done');
