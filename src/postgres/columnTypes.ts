import pg from 'pg';
import { nearestTime } from './times.ts';

const JSON_OID = 114;
const INT8_OID = 20;
const TIMESTAMPTZ_OID = 1184;

/**
 * A timestamptz as the API writes it: RFC 3339, UTC, milliseconds. A server in UTC sends nearly this text. Each job has
 * several times, so the text is cut without making a Date. SQL can write times that RFC 3339 cannot: `infinity`, years
 * before 1.
 * @throws RangeError for a text that is no time
 */
function toRfc3339(text: string): string {
  if (!text.endsWith('+00') || text.length > 29 || text[10] !== ' ') {
    const time = pg.types.getTypeParser(TIMESTAMPTZ_OID)(text) as Date | number | null;
    return nearestTime(Number(time ?? Number.NaN)).toISOString();
  }
  const fraction = text.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

/** Reads a column of times. It remembers the last one, because neighbouring rows often have the same time. */
function timeReader(): (text: string) => string {
  let last = '';
  let read = '';
  return (text) => {
    if (text !== last) {
      read = toRfc3339(text);
      last = text;
    }
    return read;
  };
}

/** How the text of a column becomes a value: JSON stays text, a bigint becomes a number, a time RFC 3339. */
export const columnTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === JSON_OID) return (text: string) => text;
    if (oid === INT8_OID) return Number;
    if (oid === TIMESTAMPTZ_OID) return timeReader();
    return pg.types.getTypeParser(oid, format as 'text');
  },
};
