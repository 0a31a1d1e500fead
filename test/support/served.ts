import { until } from './until.ts';

/** Repeats a call while it is 503. On a slow machine, the database may seem to be away for a moment. */
export const served = <T extends { status: number }>(call: () => Promise<T>): Promise<T> =>
  until(
    async () => {
      const answer = await call();
      return answer.status === 503 ? undefined : answer;
    },
    { withinMs: 120_000, what: 'an answer that is not 503' },
  ) as Promise<T>;
