import type { RunningEngine } from '../../src/engine.ts';
import { parseMetrics } from './exposition.ts';
import { until } from './until.ts';

const HELD =
  /^(dibs_held|dibs_memory_held_bytes|dibs_database_waiting_calls|dibs_database_connections\{state="busy"\})/;

/** What requests hold of a replica, by its metrics: every number of the ledger that is not 0. */
export function heldIn(metrics: string): Record<string, number> {
  const { series } = parseMetrics(metrics);
  return Object.fromEntries([...series].filter(([name, value]) => HELD.test(name) && value !== 0));
}

async function untilNothing(
  look: () => Record<string, number> | Promise<Record<string, number>>,
  ofWhom: string,
  withinMs = 30_000,
): Promise<void> {
  let held: Record<string, number> | undefined;
  const isEmpty = async () => {
    held = await look();
    return Object.keys(held).length === 0;
  };
  await until(isEmpty, { withinMs }).catch(() => {
    throw new Error(`requests still hold ${JSON.stringify(held)} of ${ofWhom}`);
  });
}

/** Waits until no request holds anything of a replica. `scrape` returns its metrics. */
export const nothingIsHeld = (scrape: () => Promise<string>, withinMs?: number): Promise<void> =>
  untilNothing(async () => heldIn(await scrape()), 'a replica', withinMs);

/** Waits until no request holds anything of an engine that has stopped. */
export const givesAllBack = ({ ledger, memory }: RunningEngine): Promise<void> =>
  untilNothing(() => {
    const all = { ...ledger.held(), memory_bytes: memory.used(), memory_callers: memory.callers() };
    return Object.fromEntries(Object.entries(all).filter(([, number]) => number !== 0));
  }, 'an engine that has stopped');
