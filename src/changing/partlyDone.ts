import { withUnknownOutcome } from '../errors.ts';

/** @throws the error of work that had done a part of it, perhaps */
export function isPartlyDone(error: unknown): never {
  throw withUnknownOutcome(error);
}
