import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answered } from '../support/answered.ts';
import { cliAt } from '../support/cli.ts';

const STRANGERS = ['<html>Welcome</html>', '"ok"', '{"status":"ok"}', '{"status":"ok","checks":[]}', ''];
const LISTS = ['jobs', 'queues', 'batches', 'schedules', 'operations', 'audit', 'keys list', 'dump', 'tail'];
const CALLS = [...LISTS, 'claim q', 'keys revoke k'].map((line) => line.split(' '));

describe('an answer of 2xx that is not of Dibs', () => {
  test.each(CALLS.flatMap((args) => STRANGERS.map((text) => [args.join(' '), text, args] as const)))(
    'dibs %s: %s is said, with status 3',
    async (_, text, args) => {
      const { dibs } = await answered(text);
      const ran = await dibs(args);
      expect(ran).toMatchObject({ status: 3, stdout: '' });
      expect(ran.stderr).toMatch(/^dibs: .*the answer (is|has) no .*\nIs that the right Dibs\?/);
    },
  );

  test.each(STRANGERS)(
    '%s makes no job and no batch: they are asked for again, with the same body',
    async (text) => {
      const queue = '{"name":"q"}';
      for (const [args, answers, stdin] of [
        [['enqueue', 'q', '1'], [text, '{"id":"a"}'], ''],
        [['enqueue', 'q', '--ndjson', '-'], [text, '{"jobs":[{"id":"a"},{"id":"b"}]}'], '1\n2\n'],
        [['batch', 'create', 'q'], [queue, text, '{"id":"b","state":"open"}'], ''],
      ] as const) {
        const { dibs, bodies } = await answered(...answers);
        const ran = await dibs([...args], { stdin });
        expect(ran).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(a|b)\n/) });
        expect(bodies).toHaveLength(answers.length);
        expect(bodies.at(-1)).toBe(bodies.at(-2));
      }
    },
  );
});

test('lines of many bytes go in requests of about 8 MiB, however few characters they have', async () => {
  const { dibs, bodies } = await answered('{"jobs":[{"id":"a"}]}');
  const stdin = `"${'€'.repeat(1_500_000)}"\n`.repeat(3);
  expect(await dibs(['enqueue', 'q', '--ndjson', '-'], { stdin })).toMatchObject({ status: 0 });
  expect(bodies).toHaveLength(3);
});

test('tail ends when it is told to, also while Dibs does not answer', async () => {
  const ended = new AbortController();
  const server = createServer(() => ended.abort());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const dibs = cliAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await dibs(['tail'], { ended: ended.signal })).toEqual({ status: 0, stdout: '', stderr: '' });
});
