import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const KIB_16 = 16_384;

async function lastError(error: string): Promise<string> {
  const { id } = await at.enqueue({ queue: 'errors' });
  const answer = await at.settle('nack', await at.claimOne('errors'), { error, retry: false });
  expect(answer.status).toBe(200);
  expect((await at.get(id)).last_error).toBe(answer.body.last_error);
  return answer.body.last_error;
}

test('an error is kept as it was sent', async () => {
  for (const error of ['', 'SMTP 421', 'ü😀\n\t"\\ \u0001\uffff', 'x'.repeat(KIB_16)])
    expect(await lastError(error)).toBe(error);
});

test('the first 16 KiB of a long error are kept', async () => {
  expect(await lastError(`${'x'.repeat(KIB_16)}y`)).toBe('x'.repeat(KIB_16));
  expect(await lastError('x'.repeat(2_000_000))).toBe('x'.repeat(KIB_16));
});

test('a long error is cut between two characters', async () => {
  for (const character of ['é', '€', '😀'])
    for (const before of ['', 'x', 'xx', 'xxx']) {
      const kept = await lastError(before + character.repeat(KIB_16));
      const bytes = Buffer.byteLength(character);
      expect(kept).toBe(before + character.repeat(Math.floor((KIB_16 - before.length) / bytes)));
    }
});

test('half a character, which UTF-8 cannot write, becomes the replacement character', async () => {
  expect(await lastError('a\ud800b')).toBe('a\ufffdb');
  expect(await lastError('\udc00'.repeat(KIB_16))).toBe('\ufffd'.repeat(Math.floor(KIB_16 / 3)));
});

test('a long error in POST /jobs/settle is cut as well', async () => {
  const { id } = await at.enqueue({ queue: 'errors' });
  const { lease_token } = await at.claimOne('errors');
  await at.ok('POST', '/jobs/settle', { nacks: [{ id, lease_token, error: 'x'.repeat(KIB_16 + 1) }] });
  expect((await at.get(id)).last_error).toBe('x'.repeat(KIB_16));
});

test('an error with NUL is refused, and the lease goes on', async () => {
  await at.enqueue({ queue: 'nul' });
  const job = await at.claimOne('nul');
  expectProblem(await at.settle('nack', job, { error: 'a\u0000b' }), 400, 'invalid_request', '/error');
  expectProblem(await at.settle('nack', job, { error: null }), 400, 'invalid_request', '/error');
  expect((await at.settle('ack', job)).status).toBe(200);
});
