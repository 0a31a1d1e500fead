import type { Lend } from './lend.ts';
import { withLongEncoded } from './longParameters.ts';
import { type Call, hasOwnLimit, ROUND_TRIP_MS, type Rows } from './pipeline.ts';
import type { WithRetries } from './retries.ts';
import { runCalls, runText } from './run.ts';
import { BEGIN } from './session.ts';
import type { Statement } from './statements.ts';
import type { Attempts, Db } from './transactions.ts';

/** How long a transaction may take in all, from the wait for a connection to the commit. */
const TRANSACTION_MS = 4500;

/** Runs statements in an open transaction. */
const dbOf = (run: (calls: Call[]) => Promise<Rows[]>): Db => ({
  async query<Parameters extends object, Row>(
    statement: Statement<Parameters, Row>,
    parameters?: Parameters,
  ) {
    const [rows] = await run(await withLongEncoded([{ statement, parameters: parameters ?? {} }]));
    return rows as Row[];
  },
});

/** Transactions on connections that are lent. */
export const createAttempts = (lend: Lend, withRetries: WithRetries): Attempts => ({
  pipeline: (calls, { lockWaitMs, asked }, sent) =>
    withRetries(
      () =>
        lend(
          async (client, notes) => {
            const running = runCalls(client, calls, notes, { lockWaitMs });
            sent?.();
            const results = await running;
            notes.committed();
            return results;
          },
          { asked, whole: true },
        ),
      hasOwnLimit(calls),
    ),

  async transaction(work, { lockWaitMs, asked }) {
    const until = performance.now() + TRANSACTION_MS;
    const left = () => Math.max(1, Math.min(ROUND_TRIP_MS, until - performance.now()));
    return withRetries(
      () =>
        lend(
          async (client, notes) => {
            await runText(client, BEGIN, left());
            const run = (calls: Call[]) => runCalls(client, calls, notes, { lockWaitMs, limitMs: left() });
            const result = await work(dbOf(run));
            const from = performance.now();
            await runText(client, 'commit', left());
            notes.committed(from);
            return result;
          },
          { asked, whole: false },
        ),
      false,
    );
  },
});
