import type { Db } from '../../src/postgres/pool.ts';
import type { Service } from './service.ts';

/** Stands before each portion of an operation that this service works on. */
export function gateOperations(service: Service) {
  let before: () => Promise<unknown> = async () => undefined;
  /** The duty also looks now and then whether there is an operation. */
  const isRunning = async () =>
    (await service.call('GET', '/operations?state=running&limit=1')).body.operations.length > 0;
  for (const db of service.pools) {
    const { transaction } = db;
    db.transaction = (work, turn) =>
      transaction.call(
        db,
        (on: Db) => {
          const gated: Db = {
            async query(statement, parameters) {
              if (/from dibs\.operations o\b[\s\S]*skip locked/.test(statement.text) && (await isRunning()))
                await before();
              return on.query(statement, parameters);
            },
          };
          return work(gated) as never;
        },
        turn,
      ) as never;
  }
  return {
    /** Runs before each portion from now on. The portion waits for it. */
    before(run: () => Promise<unknown>): void {
      before = run;
    },
    /** Lets everything through again. */
    open(): void {
      before = async () => undefined;
    },
  };
}
