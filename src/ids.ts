import { randomBytes } from 'node:crypto';

/*
 * The id of a job is a UUIDv7 (RFC 9562). 24 of its random bits, the last 6 hex digits, are the id of the queue. So every
 * statement about a job can name its queue without a look-up. See docs/decisions/0003-queue-in-the-job-id.md.
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The queue of a job is one of so many: 24 bits, and 0 is none. */
export const MOST_QUEUE_NUMBERS = 0xffffff;

/** Below every id: the first page of a keyset begins behind it. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** No id comes after it. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Whether a text has the form in which Dibs writes UUIDs: ids and lease tokens. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** The id of the queue of a job. Undefined when the text is no job id. */
export function queueIdOf(jobId: string): number | undefined {
  return isUuid(jobId) ? Number.parseInt(jobId.slice(30), 16) : undefined;
}

/** When the id of a job was made, as RFC 3339. */
export const timeOfId = (jobId: string): string =>
  new Date(Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16)).toISOString();

/** A source of job ids, which ascend. `now` is in milliseconds and may go back. */
export function idSource(now: () => number): (queueId: number) => string {
  let millisecond = 0;
  let counter = 0;
  let stamp = '';
  let pool = '';
  let used = 0;

  function randomHex(digits: number): string {
    if (used + digits > pool.length) {
      pool = randomBytes(4096).toString('hex');
      used = 0;
    }
    used += digits;
    return pool.slice(used - digits, used);
  }

  function begin(time: number, count: number): void {
    millisecond = time;
    counter = count;
    const hex = time.toString(16).padStart(12, '0');
    stamp = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
  }

  return (queueId) => {
    const time = Math.floor(now());
    // A random start leaves half of the 12 bits to count in, and keeps two replicas apart.
    if (time > millisecond) begin(time, Number.parseInt(randomHex(4), 16) & 0x7ff);
    else if (++counter > 0xfff) begin(millisecond + 1, 0);
    const random = randomHex(10);
    const variant = '89ab'[Number.parseInt(random[0] as string, 16) & 3];
    return (
      `${stamp}${counter.toString(16).padStart(3, '0')}` +
      `-${variant}${random.slice(1, 4)}-${random.slice(4)}${queueId.toString(16).padStart(6, '0')}`
    );
  };
}
