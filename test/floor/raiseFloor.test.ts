import pg from 'pg';
import { expect, test } from 'vitest';
import { createRaiseFloor } from '../../src/floor/raiseFloor.ts';
import { newScanOrder } from '../../src/floor/scanOrder.ts';
import type { Piece, ScanRanges } from '../../src/floor/scanRanges.ts';
import type { Db } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { until } from '../support/until.ts';

const END = 100_000;
const timeLimit = Object.assign(
  new pg.DatabaseError('canceling statement due to statement timeout', 0, 'error'),
  {
    code: '57014',
  },
);

test('surveys that take long however narrow they are come to the end of the order all the same', async () => {
  const limits: number[] = [];
  const query = async (statement: Statement, parameters: ScanRanges) => {
    if (!statement.text.includes('as firsts')) return [];
    limits.push(statement.timeoutMs as number);
    if ((statement.timeoutMs as number) < 400) throw timeLimit;
    const { ranks } = parameters;
    return [{ firsts: ranks.map(() => '').join(), ends: ranks.map(() => 0.1).join(), gives_freely: true }];
  };
  const arrivals = { committedUpTo: () => END, newest: () => END, isFresh: () => true };
  const { raise } = createRaiseFloor({ db: { query } as Db, arrivals: arrivals as never });
  const order = newScanOrder(1, { hasKeys: false });
  await until(async () => {
    const { cut } = order.floor.ranges(END);
    if (cut) await raise(order, cut, true);
    return !cut;
  });
  expect(limits[0]).toBe(50);
});

test('surveys that go on by themselves end when the replica stops, and ask for nothing after that', async () => {
  let asked = 0;
  let isClosed = false;
  const query = async () => {
    if (isClosed) asked++;
    return [];
  };
  // It is not known yet what has committed.
  const arrivals = {
    committedUpTo: () => undefined,
    newest: () => END,
    isFresh: () => false,
    refresh: query,
  };
  const { raise, stop } = createRaiseFloor({ db: { query } as Db, arrivals: arrivals as never });
  const order = newScanOrder(1, { hasKeys: false });
  await raise(order, order.floor.ranges(END).cut as Piece, true);
  await stop();
  isClosed = true;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(asked).toBe(0);
});
