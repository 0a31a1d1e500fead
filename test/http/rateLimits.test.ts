import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Access } from '../../src/access/access.ts';
import { networkOf } from '../../src/access/failures.ts';
import { createCaller } from '../../src/caller.ts';
import type { Rates } from '../../src/config/rates.ts';
import { readConfig } from '../../src/config.ts';
import { unauthorized } from '../../src/errors.ts';
import { expectProblem } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const ALL = { scopes: ['produce', 'read'], queues: ['*'] } as const;

/** Each credential that begins with "good" is a caller of that name. It is looked up once, and then known. */
function createFakeAccess() {
  const known = new Map<string, ReturnType<typeof createCaller>>();
  let checks = 0;
  const access: Access = {
    isOpen: () => false,
    awaitsFirstKey: () => false,
    known: ({ token = '' }) => known.get(token),
    identify({ token }) {
      if (token === undefined) throw unauthorized();
      const caller = known.get(token);
      if (caller) return caller;
      checks++;
      return Promise.resolve().then(() => {
        if (!token.startsWith('good')) throw unauthorized();
        const found = createCaller({ id: token, name: token }, ALL);
        known.set(token, found);
        return found;
      });
    },
  };
  return { access, checks: () => checks, forget: () => known.clear() };
}

async function withService(
  options: { access?: Access; rates?: Partial<Rates>; trustProxy?: string[] },
  run: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await startService(options);
  try {
    await run(service);
  } finally {
    await service.stop();
  }
}

const as = (service: Service, authorization: string, address = '10.0.0.1') =>
  service.app.inject({ url: '/queues', headers: { authorization }, remoteAddress: address });

const limitsOf = ({ headers }: { headers: Record<string, unknown> }) =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) => headers[name]);

describe('requests a second', () => {
  test('above the limit are 429 with Retry-After, and served again a second later', () =>
    withService({ access: createFakeAccess().access, rates: { requestsPerSecond: 2 } }, async (service) => {
      const look = () => service.call('GET', '/queues', undefined, { authorization: 'good' });
      expect(limitsOf(await look())).toEqual(['2', '1', '1', undefined]);
      expect(limitsOf(await look())).toEqual(['2', '0', '1', undefined]);
      for (let i = 0; i < 3; i++) {
        const answer = await look();
        expectProblem(answer, 429, 'rate_limited');
        expect(limitsOf(answer)).toEqual(['2', '0', '1', '1']);
      }
      vi.advanceTimersByTime(1000);
      expect((await look()).status).toBe(200);
    }));

  test('count for each key by itself', () =>
    withService({ access: createFakeAccess().access, rates: { requestsPerSecond: 1 } }, async (service) => {
      expect((await as(service, 'good one')).statusCode).toBe(200);
      expect((await as(service, 'good one')).statusCode).toBe(429);
      expect((await as(service, 'good two')).statusCode).toBe(200);
    }));

  test('are refused before the body is read, and count where the scope is missing', () =>
    withService({ access: createFakeAccess().access, rates: { requestsPerSecond: 1 } }, async (service) => {
      const headers = { authorization: 'good' };
      const claim = () => service.call('POST', '/jobs/claim', {}, headers);
      expectProblem(await claim(), 403, 'forbidden');
      expectProblem(await claim(), 429, 'rate_limited');
      expectProblem(await service.call('POST', '/jobs', '{"queue":', headers), 429, 'rate_limited');
    }));

  test('leave health, documents and wrong keys alone', () =>
    withService({ access: createFakeAccess().access, rates: { requestsPerSecond: 1 } }, async (service) => {
      for (const path of ['/healthz', '/readyz', '/openapi.json'])
        for (let i = 0; i < 3; i++) expect((await service.call('GET', path)).status).toBe(200);
      for (let i = 0; i < 3; i++) expect((await as(service, 'wrong')).statusCode).toBe(401);
    }));

  test('count by address where nobody needs a key', () =>
    withService({ rates: { requestsPerSecond: 1 } }, async (service) => {
      expect((await as(service, '', '10.0.0.1')).statusCode).toBe(200);
      expect((await as(service, '', '10.0.0.1')).statusCode).toBe(429);
      expect((await as(service, '', '10.0.0.2')).statusCode).toBe(200);
    }));

  test('no port in X-Forwarded-For gives an address a limit of its own', () =>
    withService({ rates: { requestsPerSecond: 1 }, trustProxy: ['10.0.0.1'] }, async (service) => {
      const from = async (client: string) => {
        const headers = { 'x-forwarded-for': client };
        return (await service.app.inject({ url: '/queues', headers, remoteAddress: '10.0.0.1' })).statusCode;
      };
      expect(await from('192.0.2.1')).toBe(200);
      expect(await from('192.0.2.2')).toBe(200);
      expect(await from('192.0.2.3:4711')).toBe(200);
      expect(await from('192.0.2.3:4712')).toBe(429);
    }));

  test('have no limit, and no headers, by default', () =>
    withService({ access: createFakeAccess().access, rates: readConfig({}).rates }, async (service) => {
      for (let i = 0; i < 100; i++) {
        const answer = await as(service, 'good');
        expect([answer.statusCode, ...limitsOf(answer)]).toEqual([200, ...Array(4).fill(undefined)]);
      }
    }));
});

describe('wrong keys', () => {
  const LIMIT = 20;

  async function fail(service: Service, times: number, address?: string): Promise<number[]> {
    const statuses = [];
    for (let i = 0; i < times; i++) statuses.push((await as(service, `wrong ${i}`, address)).statusCode);
    return statuses;
  }

  test('are checked 20 times a minute, and refused unchecked after that until the minute is over', async () => {
    const { access, checks } = createFakeAccess();
    await withService({ access, rates: readConfig({}).rates }, async (service) => {
      expect(await fail(service, LIMIT)).toEqual(Array(LIMIT).fill(401));
      vi.advanceTimersByTime(20_000);
      const answer = await service.call('GET', '/queues', undefined, { authorization: 'wrong' });
      // Requests of `call` come from another address.
      expect(answer.status).toBe(401);
      const refused = await as(service, 'wrong again');
      expect([refused.statusCode, refused.json().code, refused.headers['retry-after']]).toEqual([
        429,
        'rate_limited',
        '40',
      ]);
      expect(checks()).toBe(LIMIT + 1);
      vi.advanceTimersByTime(40_000);
      expect(await fail(service, 1)).toEqual([401]);
    });
  });

  test('of others at the same address do not hold up a key that was good before', async () => {
    const { access, forget } = createFakeAccess();
    await withService({ access, rates: { failuresPerMinute: LIMIT } }, async (service) => {
      expect((await as(service, 'good before')).statusCode).toBe(200);
      await fail(service, LIMIT);
      expect((await as(service, 'good before')).statusCode).toBe(200);
      // A token must be checked again now and then.
      forget();
      expect((await as(service, 'good before')).statusCode).toBe(200);
      expect((await as(service, 'good but new')).statusCode).toBe(429);
      expect((await as(service, 'good but new', '10.0.0.2')).statusCode).toBe(200);
    });
  });

  test('count only where there is a key: a request without one is 401 at all times', async () => {
    await withService(
      { access: createFakeAccess().access, rates: { failuresPerMinute: 1 } },
      async (service) => {
        const bare = () => service.app.inject({ url: '/queues', remoteAddress: '10.0.0.1' });
        for (let i = 0; i < 3; i++) expect((await bare()).statusCode).toBe(401);
        expect(await fail(service, 3)).toEqual([401, 429, 429]);
        expect((await bare()).statusCode).toBe(401);
      },
    );
  });

  test('have no limit when it is 0', () =>
    withService({ access: createFakeAccess().access, rates: { failuresPerMinute: 0 } }, async (service) => {
      expect(await fail(service, 100)).toEqual(Array(100).fill(401));
    }));

  test('take no memory without end, whatever addresses they come from', () =>
    withService({ access: createFakeAccess().access, rates: { failuresPerMinute: 1 } }, async (service) => {
      const answers: Answer['status'][] = [];
      for (let i = 0; i < 300; i++) answers.push(...(await fail(service, 1, `10.1.${i % 256}.${i >> 8}`)));
      expect(new Set(answers)).toEqual(new Set([401]));
    }));
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
