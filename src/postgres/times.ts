/** PostgreSQL reads no year before 1. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
/** Years after 9999 have another form. */
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** The nearest time that RFC 3339 and PostgreSQL can both write. */
export const nearestTime = (time: number): Date => new Date(Math.min(Math.max(time, FIRST_TIME), LAST_TIME));

/**
 * A time in RFC 3339 as PostgreSQL reads it: in UTC, as it knows no offsets from 16 hours, and with the microseconds
 * that were sent. Undefined for a time that does not exist. A time out of PostgreSQL's reach becomes the nearest
 * within.
 */
export function timeForPostgres(text: string): string | undefined {
  const time = Date.parse(text);
  if (Number.isNaN(time)) return undefined;
  const [fraction = ''] = /\.\d{1,6}/.exec(text) ?? [];
  return time > FIRST_TIME && time < LAST_TIME
    ? `${new Date(time).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)}${fraction}Z`
    : nearestTime(time).toISOString();
}
