import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { promise } from '../promises.ts';
import type { Stage } from '../stage.ts';

const GROUP = 'Keys';

async function withKeyFile(text: string, act: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dibs-key-'));
  try {
    const file = join(folder, 'key');
    await writeFile(file, text);
    await act(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** From now on, Dibs takes this key only. */
function accept(stage: Stage, key: string): void {
  const unauthorized = { status: 401, code: 'unauthorized' };
  stage.proxy.harm(({ authorization }) => (authorization === `Bearer ${key}` ? undefined : unauthorized));
}

promise(
  GROUP,
  'a key in a file is read again when it is refused, and the request is repeated with it',
  (stage) =>
    withKeyFile('old\n', async (key_file) => {
      accept(stage, 'old');
      const worker = stage.start({ key_file, wait_seconds: 0.2 });
      await stage.reaches(await stage.enqueue(), 'completed');
      await writeFile(key_file, 'new\n');
      accept(stage, 'new');
      await stage.reaches(await stage.enqueue(), 'completed');
      expect(worker.isOver).toBe(false);
      const refused = stage.proxy.exchanges.filter((one) => one.status === 401);
      for (const one of refused) expect(one.authorization).toBe('Bearer old');
      expect(worker.all('retrying')).toEqual([]);
    }),
);

promise(GROUP, 'a key file that is being replaced ends no worker', (stage) =>
  withKeyFile('old', async (key_file) => {
    accept(stage, 'old');
    const worker = stage.start({ key_file, wait_seconds: 0.2 });
    await stage.reaches(await stage.enqueue(), 'completed');
    const id = await stage.enqueue();
    await rm(key_file);
    accept(stage, 'new');
    const refused = () => stage.proxy.exchanges.filter((one) => one.status === 401).length;
    await until(() => refused() >= 2, { what: 'two refusals' });
    await writeFile(key_file, 'new');
    await stage.reaches(id, 'completed');
    expect(worker.isOver).toBe(false);
  }),
);

promise(
  GROUP,
  'a key file that is missing, empty, or no key is refused at once, and is not shown',
  async (stage) => {
    for (const text of ['', ' \n', 'top secret'])
      await withKeyFile(text, async (key_file) => {
        const worker = stage.start({ key_file });
        expect(await worker.ended(), text).toBe('config');
        expect(worker.texts).not.toContain('secret');
      });
    expect(await stage.start({ key_file: '/no/such/file' }).ended()).toBe('config');
    expect(stage.proxy.exchanges).toEqual([]);
  },
);

promise(GROUP, 'a key and a key file together are refused at once', (stage) =>
  withKeyFile('one', async (key_file) => {
    expect(await stage.start({ key: 'other', key_file }).ended()).toBe('config');
    expect(stage.proxy.exchanges).toEqual([]);
  }),
);
