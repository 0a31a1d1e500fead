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

/** Waits until no request holds anything of a replica. `scrape` returns its metrics. */
export async function nothingIsHeld(scrape: () => Promise<string>, withinMs = 30_000): Promise<void> {
  let held: Record<string, number> | undefined;
  const isEmpty = async () => {
    held = heldIn(await scrape());
    return Object.keys(held).length === 0;
  };
  await until(isEmpty, { withinMs }).catch(() => {
    throw new Error(`requests still hold ${JSON.stringify(held)}`);
  });
}

/** Waits until no request holds anything of an engine that has stopped. */
export async function givesAllBack({ ledger, memory }: RunningEngine): Promise<void> {
  const held = () =>
    Object.entries({
      ...ledger.held(),
      memory_bytes: memory.used(),
      memory_callers: memory.callers(),
    }).filter(([, number]) => number !== 0);
  await until(() => held().length === 0, { withinMs: 30_000 }).catch(() => {
    throw new Error(`an engine that has stopped still holds ${JSON.stringify(Object.fromEntries(held()))}`);
  });
}
