import { expect, test } from 'vitest';
import { settleVisible } from '../../src/access/settleVisible.ts';
import { unavailable } from '../../src/errors.ts';
import type { Settled } from '../../src/verbs/settle.ts';

const item = (id: string) => ({ id, lease_token: 't' });

/** Nobody can tell now where `lost` is. */
const mayUse = async (id: string) => {
  if (id === 'lost') throw unavailable();
  return id === 'own';
};

const settled: string[] = [];
const settle = async ({ acks = [] }: { acks?: { id: string }[] | undefined }) => {
  settled.push(...acks.map(({ id }) => id));
  return { acks: acks.map(({ id }) => ({ id, result: 'done' })), nacks: [], releases: [], extends: [] };
};

test('a job whose queue nobody can tell now refuses its own item of a settlement only', async () => {
  const request = { acks: ['own', 'lost', 'foreign'].map(item) };
  const { acks } = (await settleVisible(request, settle, mayUse)) as Settled;
  expect(acks).toMatchObject([
    { id: 'own', result: 'done' },
    { id: 'lost', refusal: { code: 'unavailable', outcome: 'not_done' } },
    { id: 'foreign', refusal: { code: 'job_not_found' } },
  ]);
});

test('where nobody can tell the queue of any job now, the settlement is refused, and nothing is settled', async () => {
  settled.length = 0;
  await expect(settleVisible({ acks: [item('lost')] }, settle, mayUse)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(settled).toEqual([]);
});
