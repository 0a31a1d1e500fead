import { call, get, Problem } from './api.ts';
import type { Operation } from './types.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Counts the jobs that an operation is about, without a change. A count of very many jobs takes a while, too. */
export async function preview(
  { path, body }: { path: string; body: object },
  isOver: () => boolean,
): Promise<Operation> {
  let operation = (await call<Operation>('POST', path, { ...body, dry_run: true })).body;
  while (operation.state === 'running' && !isOver()) {
    await sleep(500);
    operation = (await get<Operation>(`operations/${encodeURIComponent(operation.id)}`)).body;
  }
  if (operation.state === 'failed')
    throw new Problem(500, 'failed', operation.error ?? 'Counting failed. See the log of Dibs.');
  return operation;
}
