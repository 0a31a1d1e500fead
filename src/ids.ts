import { randomBytes } from 'node:crypto';

/*
 * A job's id is a UUIDv7 (RFC 9562) of which 24 of the random bits, the last 6 hex digits, are its queue's id: so
 * every statement about a job can name its queue without a look-up. See docs/decisions/0003-queue-in-the-job-id.md.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Below every id, for the first of keyset pages. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Whether a text has the form in which Dibs writes UUIDs: ids and lease tokens. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** The id of the queue that a job id belongs to; undefined when it is no job id. */
export function queueIdOf(jobId: string): number | undefined {
  return isUuid(jobId) ? Number.parseInt(jobId.slice(30), 16) : undefined;
}

/** A source of job ids in ascending order; `now` is in milliseconds and may go back. */
export function idSource(now: () => number): (queueId: number) => string {
  let millisecond = 0;
  let counter = 0;
  let pool = randomBytes(0);
  let used = 0;

  function randomHex(bytes: number): string {
    if (used + bytes > pool.length) {
      pool = randomBytes(4096);
      used = 0;
    }
    used += bytes;
    return pool.toString('hex', used - bytes, used);
  }

  return (queueId) => {
    const time = Math.floor(now());
    if (time > millisecond) {
      millisecond = time;
      // A random start leaves half of the 12 bits to count in, and keeps two replicas apart.
      counter = Number.parseInt(randomHex(2), 16) & 0x7ff;
    } else if (++counter > 0xfff) {
      millisecond++;
      counter = 0;
    }
    const stamp = millisecond.toString(16).padStart(12, '0');
    const random = randomHex(5);
    const variant = (8 + (Number.parseInt(random[0] as string, 16) & 3)).toString(16);
    return (
      `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${counter.toString(16).padStart(3, '0')}` +
      `-${variant}${random.slice(1, 4)}-${random.slice(4)}${queueId.toString(16).padStart(6, '0')}`
    );
  };
}
