import { Cron } from 'croner';

/** Every tick comes again within 40 years. The rarest is 29 February on one weekday, across the turn of a century. */
const YEARS = 40;

const FIELDS = ['second', 'minute', 'hour', 'day of month', 'month', 'day of week'];
const CHARACTERS = /^[0-9A-Za-z*/,#+?-]+$/;
const ZONE = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** The six fields of a cron, seconds first. */
function fieldsOf(cron: string): string[] {
  const fields = cron.split(' ').filter((field) => field !== '');
  return fields.length === 5 ? ['0', ...fields] : fields;
}

/** Vixie's rule: a day field that begins with a star restricts the other one. Otherwise they are two ways to tick. */
const needsBothDays = ([, , , dayOfMonth = '', , dayOfWeek = '']: string[]): boolean =>
  /^[*?]/.test(dayOfMonth) || /^[*?]/.test(dayOfWeek);

/** When the clocks of the zone change, ticks follow the rules of Vixie cron: docs/decisions/0012-schedules.md. */
function parse(fields: string[], timezone: string, around: Date): Cron {
  const year = around.getUTCFullYear();
  // Without a last year, the search for a tick that never comes goes on to the year 3000, which takes seconds.
  return new Cron(`${fields.join(' ')} ${year - YEARS}-${year + YEARS}`, {
    mode: '7-part',
    timezone,
    paused: true,
    fixedTimeRule: 'no-wildcard',
    domAndDow: needsBothDays(fields),
  });
}

/** The first tick after a moment, as RFC 3339. Null when there is none within 40 years. */
export const nextTick = (cron: string, timezone: string, after: Date): string | null =>
  parse(fieldsOf(cron), timezone, after).nextRun(after)?.toISOString() ?? null;

/** The last tick up to a moment, as RFC 3339. Null when there was none within 40 years. */
export function lastTick(cron: string, timezone: string, until: Date): string | null {
  const [tick] = parse(fieldsOf(cron), timezone, until).previousRuns(1, new Date(until.getTime() + 1));
  return tick?.toISOString() ?? null;
}

const isValid = (fields: string[]) => {
  try {
    return fields.every((field) => CHARACTERS.test(field)) && Boolean(parse(fields, 'UTC', new Date(0)));
  } catch {
    return false;
  }
};

/** Says what is wrong with a cron. Undefined when it has a tick after this moment. */
export function cronProblem(cron: string, timezone: string, after: Date): string | undefined {
  const fields = fieldsOf(cron);
  if (fields.length !== 6)
    return 'must have five fields (minute, hour, day of month, month, day of week), or six with the second first';
  const bad = fields.findIndex((field, i) => !isValid(FIELDS.map((_, at) => (at === i ? field : '*'))));
  if (bad >= 0) return `has ${JSON.stringify(fields[bad])} where the ${FIELDS[bad]} stands`;
  if (!isValid(fields)) return 'is not a cron';
  // First try whole minutes: there are 60 times fewer of them, and without one there is no tick.
  const minutes = ['0', ...fields.slice(1)];
  if (!parse(minutes, timezone, after).nextRun(after) || !nextTick(cron, timezone, after))
    return 'does not tick in the next 40 years';
  return undefined;
}

/** Whether the IANA database has this time zone. */
export function isTimezone(timezone: string): boolean {
  if (!ZONE.test(timezone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    return true;
  } catch {
    return false;
  }
}
