import { unavailable } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';

/**
 * A database that runs nothing until it is open: it may be another one than it should be (registry.ts).
 * @throws Refusal `unavailable`
 */
export function gated(database: string, db: Database, isOpen: () => boolean): Database {
  const refused = () =>
    Promise.reject(unavailable(`The database "${database}" does not answer. Try again later.`));
  return {
    ...db,
    query: (statement, parameters, turn) => (isOpen() ? db.query(statement, parameters, turn) : refused()),
    transaction: (work, turn) => (isOpen() ? db.transaction(work, turn) : refused()),
    pipeline: (calls, sent, turn) => (isOpen() ? db.pipeline(calls, sent, turn) : refused()),
    withOwnClient: (name, work) => (isOpen() ? db.withOwnClient(name, work) : refused()),
    serves: () => isOpen() && db.serves(),
    isUp: () => isOpen() && db.isUp(),
  };
}
