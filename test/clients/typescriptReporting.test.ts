import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { observerOf } from '../../clients/typescript/src/reporting.ts';

const fail = (): never => {
  throw new Error('no matter');
};
const thenable = (then: (resolve: unknown, reject: (error: unknown) => void) => void) => ({ then });

/** Whatever it rejects with and nobody hears fails the run. */
test.each<[string, () => unknown]>([
  ['throws', fail],
  ['rejects', async () => fail()],
  ['returns a thenable that rejects', () => thenable((_, reject) => reject(new Error('no matter')))],
  ['returns a thenable that throws', () => thenable(fail)],
  ['returns what throws when it is looked at', () => Object.defineProperty({}, 'then', { get: fail })],
])('a logger or an observer that %s does no harm', async (_, act) => {
  let count = 0;
  const tell = () => {
    count++;
    return act();
  };
  const next = vi.fn();
  const event = { type: 'retrying', request: 'claim', error: new Error('away'), seconds: 1 } as const;
  observerOf({ logger: { warn: tell, error: tell }, observe: next })(event);
  observerOf({ logger: null, observe: tell })(event);
  await turn();
  expect(count).toBe(2);
  expect(next).toHaveBeenCalledOnce();
});
