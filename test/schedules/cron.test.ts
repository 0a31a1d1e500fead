import { describe, expect, test } from 'vitest';
import { cronProblem, isTimezone, lastTick, nextTick } from '../../src/schedules/cron.ts';

const NOW = new Date('2026-11-21T09:30:00.500Z');

/** The ticks after `after`, up to `until`. */
function ticks(cron: string, timezone: string, after: string, until: string): string[] {
  const found: string[] = [];
  for (let at = nextTick(cron, timezone, new Date(after)); at; at = nextTick(cron, timezone, new Date(at))) {
    if (new Date(at) > new Date(until)) break;
    found.push(at.replace(':00.000Z', 'Z'));
  }
  return found;
}

// Berlin: 2027-03-28 goes from 02:00 +01:00 to 03:00 +02:00, 2026-10-25 from 03:00 +02:00 back to 02:00 +01:00.
describe('when the clocks go forward', () => {
  const night = (cron: string) =>
    ticks(cron, 'Europe/Berlin', '2027-03-27T12:00:00Z', '2027-03-28T02:00:00Z');

  test('a fixed time in the skipped hour ticks when the gap is over', () => {
    expect(night('30 2 * * *')).toEqual(['2027-03-28T01:00Z']);
    expect(night('15 30 2 * * *')).toEqual(['2027-03-28T01:00Z']);
    expect(night('0 2 * * *')).toEqual(['2027-03-28T01:00Z']);
  });

  test('several fixed times in the skipped hour tick once', () => {
    expect(night('0,20,40 2 * * *')).toEqual(['2027-03-28T01:00Z']);
    expect(night('30 2,3 * * *')).toEqual(['2027-03-28T01:00Z', '2027-03-28T01:30Z']);
  });

  test('a step of minutes goes on, and has no tick in the skipped hour', () => {
    expect(night('*/30 * * * *').slice(-4)).toEqual([
      '2027-03-28T00:30Z',
      '2027-03-28T01:00Z',
      '2027-03-28T01:30Z',
      '2027-03-28T02:00Z',
    ]);
    expect(night('*/20 2 * * *')).toEqual([]);
  });

  test('a fixed time ticks as usual on the next day', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2027-03-28T01:00:00Z', '2027-03-29T12:00:00Z')).toEqual([
      '2027-03-29T00:30Z',
    ]);
  });
});

describe('when the clocks go back', () => {
  const night = (cron: string, after = '2026-10-24T12:00:00Z') =>
    ticks(cron, 'Europe/Berlin', after, '2026-10-25T02:00:00Z');

  test('a fixed time in the repeated hour ticks once, the first time', () => {
    expect(night('30 2 * * *')).toEqual(['2026-10-25T00:30Z']);
    expect(night('30 2 * * *', '2026-10-25T00:30:00Z')).toEqual([]);
    expect(night('30 2 * * *', '2026-10-25T01:10:00Z')).toEqual([]);
    expect(night('30 2,14 * * *')).toEqual(['2026-10-24T12:30Z', '2026-10-25T00:30Z']);
  });

  test('a step of minutes ticks in both hours', () => {
    const both = ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z'];
    expect(night('*/30 * * * *').slice(-5)).toEqual([...both, '2026-10-25T02:00Z']);
    expect(night('*/30 2 * * *')).toEqual(both);
    expect(night('0 * * * *').slice(-3)).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T01:00Z',
      '2026-10-25T02:00Z',
    ]);
  });
});

test('a schedule for midnight also ticks on a day that begins at 01:00', () => {
  // Cairo: 2026-04-24 begins at 01:00 +03:00.
  expect(ticks('0 0 * * *', 'Africa/Cairo', '2026-04-22T12:00:00Z', '2026-04-25T12:00:00Z')).toEqual([
    '2026-04-22T22:00Z',
    '2026-04-23T22:00Z',
    '2026-04-24T21:00Z',
  ]);
});

test('between a last tick and its next tick there is no other', () => {
  for (const cron of ['30 2 * * *', '*/20 * * * *', '30 2,14 * * *', '*/20 1-3 * * *'])
    for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe'])
      for (const start of ['2027-03-27', '2026-10-24', '2026-10-03', '2026-04-04']) {
        const begin = Date.parse(`${start}T00:00:00Z`);
        let last = lastTick(cron, zone, new Date(begin)) as string;
        for (let at = begin; at < begin + 2 * 86_400_000; at += 1_201_000) {
          const where = `${cron} ${zone} ${new Date(at).toISOString()}`;
          for (;;) {
            const next = nextTick(cron, zone, new Date(last)) as string;
            expect(Date.parse(next), where).toBeGreaterThan(Date.parse(last));
            if (Date.parse(next) > at) break;
            last = next;
          }
          expect(lastTick(cron, zone, new Date(at)), where).toBe(last);
        }
      }
});

test('a tick at this very moment is the last tick, not the next one', () => {
  const at = new Date('2026-11-21T09:30:00.000Z');
  expect(lastTick('* * * * * *', 'UTC', at)).toBe('2026-11-21T09:30:00.000Z');
  expect(nextTick('* * * * * *', 'UTC', at)).toBe('2026-11-21T09:30:01.000Z');
});

describe('a cron', () => {
  test.each([
    ['*/10 * * * * *', '2026-11-21T09:30:10.000Z'],
    ['*/10 * * * *', '2026-11-21T09:40:00.000Z'],
    ['0 0 * * 1-5', '2026-11-23T00:00:00.000Z'],
    ['0 0 * JAN SUN', '2027-01-03T00:00:00.000Z'],
    ['0 0 * * 7', '2026-11-22T00:00:00.000Z'],
    ['0 0 13 * FRI', '2026-11-27T00:00:00.000Z'],
    ['0 0 13 * +FRI', '2027-08-13T00:00:00.000Z'],
    ['0 0 L * *', '2026-11-30T00:00:00.000Z'],
    ['0 0 15W * *', '2026-12-15T00:00:00.000Z'],
    ['0 0 * * MON#1', '2026-12-07T00:00:00.000Z'],
    ['0 0 * * FRI#L', '2026-11-27T00:00:00.000Z'],
    ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
    ['0 0 29 2 +MON', '2044-02-29T00:00:00.000Z'],
    ['  5  4  *  *  * ', '2026-11-22T04:05:00.000Z'],
  ])('%s ticks next at %s', (cron, at) => {
    expect(cronProblem(cron, 'UTC', NOW)).toBeUndefined();
    expect(nextTick(cron, 'UTC', NOW)).toBe(at);
  });

  test.each([
    ['', /five fields/],
    ['* * * *', /five fields/],
    ['* * * * * * 2030', /five fields/],
    ['@daily', /five fields/],
    ['2030-01-01T00:00:00', /five fields/],
    ['60 * * * *', /"60" where the minute stands/],
    ['60 * * * * *', /"60" where the second stands/],
    ['* 24 * * *', /"24" where the hour stands/],
    ['* * 32 * *', /"32" where the day of month stands/],
    ['* * 0 * *', /"0" where the day of month stands/],
    ['* * * 13 *', /"13" where the month stands/],
    ['* * * * 8', /"8" where the day of week stands/],
    ['* * * * MOO', /"MOO" where the day of week stands/],
    ['*/0 * * * *', /"\*\/0" where the minute stands/],
    ['5/5 * * * *', /"5\/5" where the minute stands/],
    ['1-5-7 * * * *', /where the minute stands/],
    ['-1 * * * *', /where the minute stands/],
    ['1.5 * * * *', /where the minute stands/],
    ['\u0661 * * * *', /where the minute stands/],
  ])('%j is refused, and the refusal names the wrong field', (cron, problem) => {
    expect(cronProblem(cron, 'UTC', NOW)).toMatch(problem);
  });

  test.each([
    ['0 0 30 2 *', 'UTC'],
    ['0 0 31 4,6,9,11 *', 'UTC'],
    ['0 0 1 1 +MON#5', 'UTC'],
    // Always in the hour that is skipped.
    ['*/5 2 * 3 SUN#L', 'Europe/Berlin'],
    ['* * 2 * 3 SUN#L', 'Europe/Berlin'],
  ])('%s in %s never ticks, and is refused', (cron, zone) => {
    expect(cronProblem(cron, zone, NOW)).toMatch(/does not tick/);
  });
});

/** The values of a day field by Vixie's rules, and whether it begins with a star. */
function vixieField(field: string, first: number, last: number): { values: Set<number>; isStar: boolean } {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [from, to] = range === '*' ? [first, last] : range.split('-').map(Number);
    for (let value = from as number; value <= (to ?? (from as number)); value += Number(step))
      values.add(value);
  }
  return { values, isStar: field.startsWith('*') };
}

/** The days of two years on which Vixie cron runs something: cron.c of version 3.0 and of cronie. */
function vixieDays(dayOfMonth: string, dayOfWeek: string): string[] {
  const month = vixieField(dayOfMonth, 1, 31);
  const week = vixieField(dayOfWeek, 0, 7);
  const days: string[] = [];
  for (let at = Date.UTC(2027, 0, 1); at < Date.UTC(2029, 0, 1); at += 86_400_000) {
    const day = new Date(at);
    const weekday = day.getUTCDay();
    const inMonth = month.values.has(day.getUTCDate());
    const inWeek = week.values.has(weekday) || (weekday === 0 && week.values.has(7));
    if (month.isStar || week.isStar ? inMonth && inWeek : inMonth || inWeek) days.push(day.toISOString());
  }
  return days;
}

describe("the days are those of Vixie's rule", () => {
  test.each([
    ['*', '*'],
    ['*', '1'],
    ['13', '*'],
    ['13', '5'],
    ['1,15', '1-5'],
    ['*/2', '1'],
    ['*/2', '*'],
    ['*/2', '1-5'],
    ['*/1', '1'],
    ['*/10', '0,7'],
    ['*/31', '*/7'],
    ['*,15', '1'],
    ['*/2,4', '3'],
    ['*/3', '*/2'],
    ['15', '*/2'],
    ['15', '*/3'],
    ['1-7', '*/6'],
    ['1-31', '1'],
    ['1-31/2', '1'],
    ['13', '0-7'],
    ['13', '1-7/2'],
    ['29-31', '7'],
  ])('0 0 %s * %s', (dayOfMonth, dayOfWeek) => {
    const days: string[] = [];
    let at: string | null = '2026-12-31T23:59:59Z';
    for (;;) {
      at = nextTick(`0 0 ${dayOfMonth} * ${dayOfWeek}`, 'UTC', new Date(at));
      if (at === null || at >= '2029') break;
      days.push(at);
    }
    expect(days).toEqual(vixieDays(dayOfMonth, dayOfWeek));
  });

  test('also with a + or a ? in place of the star', () => {
    const days = nextTick('0 0 */2 * MON', 'UTC', NOW);
    expect(nextTick('0 0 1-31/2 * +MON', 'UTC', NOW)).toBe(days);
    expect(nextTick('0 0 ?/2 * MON', 'UTC', NOW)).toBe(days);
  });
});

test('a time zone is one of the IANA database, not an offset', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'US/Eastern'])
    expect(isTimezone(zone), zone).toBe(true);
  for (const zone of ['', 'Mars/Olympus', '+02:00', 'UTC+2', 'local', ' UTC', 'Europe/Berlin '])
    expect(isTimezone(zone), zone).toBe(false);
});
