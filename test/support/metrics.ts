import { expect } from 'vitest';
import { EVENTS } from '../../src/verbs/counting.ts';
import { parseMetrics, type Scrape } from './exposition.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

export async function scrape(service: Service, headers: Record<string, string> = {}): Promise<Scrape> {
  const answer = await service.call('GET', '/metrics', undefined, headers);
  expect(answer.status, answer.text).toBe(200);
  return parseMetrics(answer.text);
}

/** The totals of a queue, without those that are 0. */
export function totalsOf(read: Scrape, queue: string): Record<string, number> {
  const all = EVENTS.map((event) => [event, read.value(`dibs_jobs_${event}_total`, { queue }) ?? 0] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== 0));
}

/** Scrapes until `look` returns a true value, and returns the scrape. */
export async function scrapeUntil(
  service: Service,
  what: string,
  look: (read: Scrape) => unknown,
): Promise<Scrape> {
  return until(
    async () => {
      const read = await scrape(service);
      return look(read) ? read : undefined;
    },
    { everyMs: 200, what },
  );
}
