import { LARGEST_BYTES } from '../../../src/memory.ts';
import { MAX_SMALL_JSON_BYTES } from '../../schemas/common.ts';

const KIB = 1024;
/** The fields of a job besides its payload, written with as many escapes as JSON allows: 32 headers take most. */
const OTHER_FIELDS = 512 * KIB;

/** How large the body of a route may be. */
export const bodyLimits = (maxPayloadBytes: number) => ({
  /** One job, or a schedule with one. */
  job: Math.min(LARGEST_BYTES, maxPayloadBytes + OTHER_FIELDS),
  /** A list of jobs, or a nack, whose `error` may have any length. */
  jobs: LARGEST_BYTES,
  /** A lease with its progress. */
  progress: MAX_SMALL_JSON_BYTES + 16 * KIB,
});
/** All other bodies have a few short fields, or none. */
export const BODY_LIMIT = 64 * KIB;
