import { withUnknownOutcome } from '../errors.ts';

/** Throws the error of work that may have been done in part. */
export function rethrowPartlyDone(error: unknown): never {
  throw withUnknownOutcome(error);
}
