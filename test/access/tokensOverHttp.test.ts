import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTokens } from '../../src/access/tokens.ts';
import { createSigner, type Issuer, inSeconds, startIssuer } from '../support/issuer.ts';
import { expectProblem } from '../support/moves.ts';
import { type Answer, type Method, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const signer = await createSigner();
const other = await createSigner();

let issuer: Issuer;
let service: Service;
beforeAll(async () => {
  issuer = await startIssuer(signer);
  service = await startService({ tokens: createTokens(issuer.config) });
});
afterAll(async () => {
  await service.stop();
  issuer.stop();
});
afterEach(() => issuer.serveKeys(signer));

const as = (token: string) => (method: Method, path: string, body?: unknown) =>
  service.call(method, path, body, { authorization: `Bearer ${token}` });

function expectRefused(answer: Answer, status: 401 | 503) {
  expectProblem(answer, status, status === 401 ? 'unauthorized' : 'unavailable');
  expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer realm="dibs"' : undefined);
  expect(answer.headers['retry-after']).toBe(status === 503 ? '1' : undefined);
  return answer.body.detail;
}

describe('tokens over HTTP', () => {
  test('a producer and a worker do what their tokens allow, and no more', async () => {
    const producer = as(await signer.sign({ scope: 'dibs:produce', dibs_queues: ['mail.*'], sub: 'web' }));
    const worker = as(await signer.sign({ scope: 'dibs:consume', dibs_queues: ['mail.out'], sub: 'sender' }));
    expect((await producer('POST', '/jobs', { queue: 'mail.out' })).status).toBe(201);
    expectProblem(await producer('POST', '/jobs', { queue: 'pay' }), 403, 'forbidden');
    expectProblem(await producer('POST', '/jobs/claim', { queues: ['mail.out'] }), 403, 'forbidden');
    expectProblem(await worker('POST', '/jobs/claim', { queues: ['mail.in'] }), 403, 'forbidden');
    const { jobs } = (await worker('POST', '/jobs/claim', { queues: ['mail.out'] })).body;
    const { id, lease_token } = jobs[0];
    expectProblem(await producer('POST', `/jobs/${id}/ack`, { lease_token }), 403, 'forbidden');
    expect((await worker('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
  });

  test('whoever holds the signing key mints a narrower, shorter one without asking', async () => {
    const narrow = as(
      await signer.sign({ scope: 'dibs:produce', dibs_queues: 'mail.tenant-7', exp: inSeconds(5) }),
    );
    expect((await narrow('POST', '/jobs', { queue: 'mail.tenant-7' })).status).toBe(201);
    expectProblem(await narrow('POST', '/jobs', { queue: 'mail.tenant-8' }), 403, 'forbidden');
  });

  test('the same Idempotency-Key of two subjects is two keys, and of two tokens of one subject is one', async () => {
    const enqueue = async (claims: object) =>
      (
        await service.call(
          'POST',
          '/jobs',
          { queue: 'mail.idem' },
          { authorization: `Bearer ${await signer.sign({ ...claims })}`, 'idempotency-key': 'same' },
        )
      ).body.id;
    const first = await enqueue({ sub: 'a' });
    expect(await enqueue({ sub: 'a', jti: '2' })).toBe(first);
    expect(await enqueue({ sub: 'b' })).not.toBe(first);
  });

  test('all tokens that are not good are refused in the same words', async () => {
    const good = await signer.sign();
    const tokens = [
      await signer.sign({ aud: 'payroll' }),
      await signer.sign({ exp: inSeconds(-100) }),
      await other.sign(),
      good.slice(0, -4),
      `${good.split('.')[0]}..`,
      'dibs_key',
      '%',
    ];
    const details = [];
    for (const token of tokens) details.push(expectRefused(await as(token)('GET', '/queues'), 401));
    for (const authorization of ['', 'Bearer', 'Bearer ', `Basic ${good}`, `Bearer ${good} ${good}`, good]) {
      const answer = await service.call('GET', '/queues', undefined, { authorization });
      details.push(expectRefused(answer, 401));
    }
    details.push(expectRefused(await service.call('GET', '/queues'), 401));
    expect(new Set(details).size).toBe(1);
  });

  test('the scheme is read in any letters', async () => {
    const authorization = `bEARER ${await signer.sign({ scope: 'dibs:read' })}`;
    expect((await service.call('GET', '/queues', undefined, { authorization })).status).toBe(200);
  });

  test('a token of 100 KB is refused by its length', async () => {
    const token = await signer.sign({ filler: 'x'.repeat(100_000) });
    expectRefused(await as(token)('GET', '/queues'), 401);
    const url = await service.listen();
    const answer = await fetch(`${url}/queues`, { headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, await answer.json()]).toMatchObject([431, { code: 'headers_too_large' }]);
  });

  test('while the keys of the issuer are away, health stays 200, and new tokens are 503 until they are back', async () => {
    const away = await startIssuer(signer);
    away.serve((response) => response.destroy());
    const lonely = await startService({
      tokens: createTokens(away.config),
      databaseUrl: service.databaseUrl,
    });
    const authorization = `Bearer ${await signer.sign({ scope: 'dibs:read' })}`;
    const look = () => lonely.call('GET', '/queues', undefined, { authorization });
    expectRefused(await look(), 503);
    expect((await lonely.call('GET', '/healthz')).status).toBe(200);
    away.serveKeys(signer);
    await until(async () => (await look()).status === 200);
    away.serve((response) => response.destroy());
    expect((await look()).status).toBe(200);
    await lonely.stop();
    away.stop();
  });
});
