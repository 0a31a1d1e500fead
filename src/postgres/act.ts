import type { Signed } from '../verbs/callers.ts';
import { type Call, callOf } from './pipeline.ts';
import { prepared, type Statement } from './statements.ts';
import type { Db, Transactions } from './transactions.ts';

/*
 * Tells the history of jobs who acts on them. A trigger writes the history, and one statement may work for several
 * callers. So a setting of the transaction names the caller, or the caller of each job.
 */

const act = prepared('postgres/act');

interface SignedItem extends Signed {
  id: string;
}

function actorOf(items: SignedItem[]): string | undefined {
  const [first] = items;
  if (items.every(({ by }) => by === first?.by)) return first?.by && JSON.stringify(first.by);
  return JSON.stringify(
    Object.fromEntries(items.flatMap(({ id, by }) => (by === undefined ? [] : [[id, by]]))),
  );
}

/** The calls that make the setting. None, when there is nothing to tell. */
function actOf(actor: string | undefined, event = ''): Call[] {
  return actor === undefined && event === '' ? [] : [callOf(act, { actor: actor ?? '', event })];
}

/** Each job is acted on by its own caller. */
export const actOn = (items: SignedItem[]): Call[] => actOf(actorOf(items));

/** One caller acts on all jobs of a transaction. */
export const actAs = (by: string | undefined, event?: 'redriven'): Call[] =>
  actOf(by === undefined ? undefined : JSON.stringify(by), event);

/** Runs statements, each in a transaction of its own that begins with these calls. */
export const beginningWith = (db: Transactions, calls: Call[]): Db =>
  calls.length === 0
    ? db
    : {
        async query<Parameters extends object, Row>(
          statement: Statement<Parameters, Row>,
          parameters?: Parameters,
        ) {
          const results = await db.pipeline([...calls, { statement, parameters: parameters ?? {} }]);
          return results.at(-1) as Row[];
        },
      };

/** Makes the setting in an open transaction. */
export async function noteAct(transaction: Db, calls: Call[]): Promise<void> {
  for (const { statement, parameters } of calls) await transaction.query(statement, parameters);
}
