import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseEngine } from '../engine/open.ts';
import { whyNotReady } from '../postgres/migrate.ts';
import type { Readiness } from '../verbs.ts';
import { isAway } from './members.ts';

/** A database that is away is asked so often whether it is back. */
const AGAIN_MS = 250;
/** While others are ready, an answer waits for so long for one that hangs. Probes have limits of a few seconds. */
const PATIENCE_MS = 1000;

type Why = Promise<string | undefined>;

const askWhy = ({ base }: DatabaseEngine): Why => whyNotReady(base.db).catch((error: Error) => error.message);

/** Which databases take writes. It asks those that are away until they do: nobody else may call them meanwhile. */
export function watchReadiness(engines: DatabaseEngine[], stop: AbortSignal) {
  /** What a database said last that is away. */
  const said = new Map<DatabaseEngine, string | undefined>();
  const asked = new Set<DatabaseEngine>();

  async function ask(engine: DatabaseEngine): Promise<void> {
    asked.add(engine);
    said.set(engine, await askWhy(engine));
    asked.delete(engine);
  }

  const timer = setInterval(() => {
    for (const engine of engines)
      if (!isAway(engine)) said.delete(engine);
      else if (!asked.has(engine)) void ask(engine);
  }, AGAIN_MS);
  stop.addEventListener('abort', () => clearInterval(timer));

  const why = async (engine: DatabaseEngine): Why => (isAway(engine) && said.get(engine)) || askWhy(engine);

  /** Those that take no writes, of answers that may be late. */
  const notReadyOf = async (reasons: Why[]) => {
    const all = await Promise.all(reasons);
    return engines.flatMap(({ name }, i) => (all[i] === undefined ? [] : [{ name, reason: all[i] }]));
  };

  return async (): Promise<Readiness> => {
    const reasons = engines.map(why);
    const soon = reasons.map((reason) =>
      Promise.race([reason, sleep(PATIENCE_MS, 'The database has not answered yet.', { ref: false })]),
    );
    let notReady = await notReadyOf(soon);
    if (notReady.length === engines.length) notReady = await notReadyOf(reasons);
    if (notReady.length === engines.length)
      return { notReady, reason: notReady.map(({ name, reason }) => `${name}: ${reason}`).join(' ') };
    return { notReady };
  };
}
