import { onServer } from './database.ts';

/** Sets the next tick of a schedule to this many seconds ago, as if every replica had missed it. Returns its time. */
export async function rewind(databaseUrl: string, name: string, seconds: number): Promise<string> {
  const [row] = await onServer<{ tick: Date }>(
    databaseUrl,
    `update dibs.schedules set next_run_at = date_trunc('second', now()) - $2 * interval '1 s'
     where name = $1 returning next_run_at as tick`,
    [name, seconds],
  );
  return (row as { tick: Date }).tick.toISOString();
}

/** A cron that ticks each hour, the next time in half an hour: never while a test runs. */
export const hourly = () => `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;

/** The number of ticks of a schedule for every second, from `first` to `last`, both included. */
export const secondsFrom = (first: string, last: string): number =>
  (Date.parse(last) - Date.parse(first)) / 1000 + 1;
