import { onServer } from './database.ts';

/** As if the next tick of a schedule had been due that many seconds ago, and nobody there to take it; answers when. */
export async function rewind(databaseUrl: string, name: string, seconds: number): Promise<string> {
  const [row] = await onServer<{ due: Date }>(
    databaseUrl,
    `update dibs.schedules set next_run_at = date_trunc('second', now()) - $2 * interval '1 s'
     where name = $1 returning next_run_at as due`,
    [name, seconds],
  );
  return (row as { due: Date }).due.toISOString();
}

/** A cron that ticks each hour, half an hour from now: never while a test runs. */
export const hourly = () => `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;

/** How many ticks of an every-second schedule there are from one to another, both included. */
export const secondsFrom = (first: string, last: string): number =>
  (Date.parse(last) - Date.parse(first)) / 1000 + 1;
