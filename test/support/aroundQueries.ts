import type { Statement } from '../../src/postgres/statements.ts';
import type { Service } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: statements have parameters and rows of every kind.
type Any = any;

/**
 * Stands around the statements that a service sends alone, to whichever of its databases, until the function that it
 * returns is called.
 */
export function aroundQueries(
  { pools }: Service,
  around: (statement: Statement<Any, Any>, parameters: Any, run: () => Promise<Any[]>) => Promise<Any[]>,
): () => void {
  const undo = pools.map((db) => {
    const { query } = db;
    db.query = (statement, parameters, turn) =>
      around(statement, parameters, () => query.call(db, statement, parameters, turn));
    return () => {
      db.query = query;
    };
  });
  return () => {
    for (const step of undo) step();
  };
}
