import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NEEDS } from '../../src/access/needs.ts';
import { ANYBODY, createCaller } from '../../src/caller.ts';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem, moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
/** The operator, who sees everything. */
let root: ReturnType<typeof as>;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  root = as(service, 'admin@*');
  at = moves({ ...service, call: root });
});
afterAll(() => service.stop());

const countOf = async (queue: string): Promise<Record<string, number> | undefined> =>
  (await root('GET', `/queues/${queue}`)).body.counts;
const isThere = async (queue: string) => (await root('GET', `/queues/${queue}`)).status === 200;
const lease = async (queue: string) => {
  await at.enqueue({ queue });
  return at.claimOne(queue);
};
const stateOf = async (id: string) => (await at.get(id)).state;

describe('the verbs of a caller', () => {
  test('are the verbs themselves for whoever may do everything, but for those that are audited', () => {
    const verbs = service.engine.as(ANYBODY);
    const other = (Object.keys(NEEDS) as (keyof typeof NEEDS)[]).filter(
      (verb) => verbs[verb] !== service.engine[verb],
    );
    expect(other).toEqual(Object.keys(NEEDS).filter((verb) => 'about' in NEEDS[verb as keyof typeof NEEDS]));
  });

  test('are made once for each caller', () => {
    const caller = createCaller({ id: 'a', name: 'a' }, { scopes: ['read'], queues: ['mail'] });
    expect(service.engine.as(caller)).toBe(service.engine.as(caller));
  });

  test('each have a need, and nothing else has one', () => {
    expect(Object.keys(service.engine.as(ANYBODY)).sort()).toEqual(Object.keys(NEEDS).sort());
  });
});

describe('the order of refusals', () => {
  test('the scope comes before the body is looked at', async () => {
    const answer = await as(service, 'read@*')('POST', '/jobs', 'no json');
    expectProblem(answer, 403, 'forbidden');
    expect(answer.body.detail).toContain('"produce"');
  });

  test('a queue that the caller may not use is 403, whether it exists or not, and is not created', async () => {
    const mail = as(service, 'produce,consume,read,admin@mail');
    await at.enqueue({ queue: 'there' });
    for (const [method, path, body] of [
      ['GET', '/queues/{q}'],
      ['GET', '/queues/{q}/explain'],
      ['GET', '/jobs?queue={q}'],
      ['PUT', '/queues/{q}', {}],
      ['POST', '/queues/{q}/pause'],
      ['POST', '/queues/{q}/resume'],
      ['POST', '/queues/{q}/purge', { states: ['ready'] }],
      ['POST', '/queues/{q}/redrive', {}],
      ['DELETE', '/queues/{q}?force=true'],
      ['POST', '/jobs', { queue: '{q}' }],
      ['POST', '/jobs/claim', { queues: ['{q}'] }],
    ] as const) {
      const texts = [];
      for (const queue of ['there', 'nowhere']) {
        const sent = body && JSON.parse(JSON.stringify(body).replace('{q}', queue));
        const answer = await mail(method, path.replace('{q}', queue), sent);
        expectProblem(answer, 403, 'forbidden');
        texts.push(answer.text.replace(`\\"${queue}\\"`, 'QUEUE'));
      }
      expect(texts[0]).toBe(texts[1]);
    }
    expect(await isThere('nowhere')).toBe(false);
    expect(await countOf('there')).toMatchObject({ ready: 1 });
  });

  test('a queue that is not named is `default`', async () => {
    const mail = as(service, 'produce,consume,admin@mail');
    const schedule = { cron: '0 0 1 1 *', job: {} };
    for (const [path, body] of [
      ['/jobs', {}],
      ['/jobs/batch', { jobs: [{ queue: 'mail' }, {}] }],
      ['/jobs/claim', {}],
    ] as const)
      expectProblem(await mail('POST', path, body), 403, 'forbidden');
    expectProblem(await mail('PUT', '/schedules/of.default', schedule), 403, 'forbidden');
    expect((await as(service, 'produce@default')('POST', '/jobs', {})).status).toBe(201);
  });

  test('a lease in another queue is 404, with the right token too, and stays as it is', async () => {
    const mail = as(service, 'consume@mail');
    const job = await lease('foreign.lease');
    for (const verb of ['ack', 'nack', 'release', 'extend'])
      expectProblem(
        await mail('POST', `/jobs/${job.id}/${verb}`, {
          lease_token: job.lease_token,
          ...(verb === 'extend' ? { lease_seconds: 1000 } : {}),
        }),
        404,
        'job_not_found',
      );
    expect(await at.get(job.id)).toMatchObject({ state: 'leased', lease_expires_at: job.lease_expires_at });
  });
});

describe('a foreign job', () => {
  test('is answered byte for byte like one that never was', async () => {
    const mail = as(service, 'produce,consume,read,admin@mail');
    await at.enqueue({ queue: 'mail' });
    const { id } = await at.enqueue({ queue: 'foreign.bytes' });
    // The same queue number, and no such job; and a job of no queue; and no id at all.
    const others = [`${id.slice(0, 24)}${'0'.repeat(6)}${id.slice(30)}`, UNKNOWN_ID];
    const seen = ({ status, headers, text }: Answer, of: string) => {
      const { 'x-request-id': _, date: __, 'content-length': ___, ...rest } = headers;
      return { status, rest, text: text.replaceAll(of, 'ID') };
    };
    for (const [method, path, body] of [
      ['GET', ''],
      ['GET', '?wait_seconds=30'],
      ['HEAD', ''],
      ['GET', '/explain'],
      ['DELETE', ''],
      ['POST', '/retry'],
      ['POST', '/ack', { lease_token: UNKNOWN_TOKEN }],
      ['POST', '/ack', { lease_token: UNKNOWN_TOKEN, enqueue: [{ queue: 'mail' }] }],
      ['POST', '/nack', { lease_token: UNKNOWN_TOKEN }],
      ['POST', '/release', { lease_token: UNKNOWN_TOKEN }],
      ['POST', '/extend', { lease_token: UNKNOWN_TOKEN, lease_seconds: 1 }],
    ] as const) {
      const foreign = seen(await mail(method, `/jobs/${id}${path}`, body), id);
      expect(foreign.status).toBe(404);
      for (const other of others)
        expect(seen(await mail(method, `/jobs/${other}${path}`, body), other)).toEqual(foreign);
    }
  });

  test('cannot be waited for: the answer comes at once', async () => {
    const { id } = await at.enqueue({ queue: 'foreign.wait' });
    const before = performance.now();
    expectProblem(await as(service, 'read@mail')('GET', `/jobs/${id}?wait_seconds=60`), 404, 'job_not_found');
    expect(performance.now() - before).toBeLessThan(30_000);
  });
});

describe('settle', () => {
  test('settles own items, and answers foreign ones as if there were no such jobs', async () => {
    const own = await lease('mail');
    const other = await lease('sms');
    const item = ({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token });
    const { status, body } = await as(service, 'consume@mail')('POST', '/jobs/settle', {
      acks: [item(other), item(own)],
      releases: [item(other)],
      nacks: [{ ...item(other), error: 'x' }],
      extends: [{ ...item(other), lease_seconds: 1000 }],
    });
    expect(status).toBe(200);
    const gone = { id: other.id, status: 404, problem: { code: 'job_not_found' } };
    expect(body).toMatchObject({
      acks: [gone, { id: own.id, status: 200, state: 'completed' }],
      releases: [gone],
      nacks: [gone],
      extends: [gone],
    });
    expect(body.acks[0].problem.detail).toContain(other.id);
    expect(await at.get(other.id)).toMatchObject({
      state: 'leased',
      lease_expires_at: other.lease_expires_at,
    });
  });

  test('a malformed follow-up refuses all, and is named by its place, though foreign items stand before it', async () => {
    const own = await lease('mail');
    const other = await lease('sms');
    const worker = as(service, 'consume,produce@mail');
    const bad = { queue: 'mail', unique_for_seconds: 5 };
    for (const acks of [
      [other, { ...own, enqueue: [bad] }],
      // Whoever's job it names.
      [own, { ...other, enqueue: [bad] }],
    ]) {
      const answer = await worker('POST', '/jobs/settle', {
        acks: acks.map(({ id, lease_token, enqueue }) => ({ id, lease_token, enqueue })),
      });
      expectProblem(answer, 400, 'invalid_request', '/acks/1/enqueue/0/unique_for_seconds');
    }
    expect(await stateOf(own.id)).toBe('leased');
  });

  test('follow-ups without `produce`, or into a foreign queue, are 403, and nothing is settled', async () => {
    for (const [key, queue] of [
      ['consume@mail', 'mail'],
      ['consume,read@*', 'mail'],
      ['consume,produce@mail', 'sms.new'],
      ['admin@mail', 'sms.new'],
    ] as const) {
      const worker = as(service, key);
      const [one, two] = [await lease('mail'), await lease('mail')];
      const enqueue = [{ queue: 'mail' }, { queue }];
      for (const body of [
        {
          acks: [
            { id: one.id, lease_token: one.lease_token },
            { id: two.id, lease_token: two.lease_token, enqueue },
          ],
        },
        {
          acks: [{ id: one.id, lease_token: one.lease_token }],
          nacks: [{ id: two.id, lease_token: two.lease_token, retry: false, enqueue }],
        },
      ])
        expectProblem(await worker('POST', '/jobs/settle', body), 403, 'forbidden');
      for (const verb of ['ack', 'nack'])
        expectProblem(
          await worker('POST', `/jobs/${one.id}/${verb}`, { lease_token: one.lease_token, enqueue }),
          403,
          'forbidden',
        );
      expect([await stateOf(one.id), await stateOf(two.id)]).toEqual(['leased', 'leased']);
      expect(await isThere('sms.new')).toBe(false);
      for (const { id, lease_token } of [one, two]) await at.ok('POST', `/jobs/${id}/ack`, { lease_token });
    }
  });

  test('with a claim answers the jobs that it leased, and leases nothing where a foreign queue is among its queues', async () => {
    const worker = as(service, 'consume@settled.claims');
    const queue = 'settled.claims';
    const { id, lease_token } = await lease(queue);
    const other = await lease('sms');
    await at.enqueue({ queue });
    const acks = [{ id: other.id, lease_token: other.lease_token }];
    for (const queues of [[queue, 'sms'], ['sms']])
      expectProblem(await worker('POST', '/jobs/settle', { acks, claim: { queues } }), 403, 'forbidden');
    const { body } = await worker('POST', '/jobs/settle', {
      acks: [...acks, { id, lease_token }],
      claim: { queues: [queue], claim_id: 'c' },
    });
    expect(body).toMatchObject({
      acks: [{ status: 404 }, { status: 200 }],
      jobs: [{ queue, state: 'leased' }],
    });
    expect(await stateOf(other.id)).toBe('leased');
    // The claim_id is this caller's own.
    const again = { queues: [queue], claim_id: 'c' };
    expect((await worker('POST', '/jobs/claim', again)).body.jobs).toMatchObject([{ id: body.jobs[0].id }]);
    expect((await as(service, 'consume@settled.claims#2')('POST', '/jobs/claim', again)).body.jobs).toEqual(
      [],
    );
  });

  test('an empty `enqueue` needs no `produce`', async () => {
    const { id, lease_token } = await lease('mail');
    const answer = await as(service, 'consume@mail')('POST', `/jobs/${id}/ack`, { lease_token, enqueue: [] });
    expect(answer.status).toBe(200);
  });
});

describe('names that clients choose', () => {
  const key = { 'idempotency-key': 'k' };

  test.each([
    ['/jobs', { queue: 'names' }],
    ['/jobs/batch', { jobs: [{ queue: 'names' }] }],
  ])('an Idempotency-Key of two callers at %s: two jobs; of the same caller: one', async (path, body) => {
    const idOf = ({ body }: Answer) => body.id ?? body.jobs[0].id;
    const [one, two] = [as(service, 'produce@names#1'), as(service, 'produce@names#2')];
    const first = await one('POST', path, body, key);
    const second = await two('POST', path, body, key);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(idOf(first)).not.toBe(idOf(second));
    const again = await one('POST', path, body, key);
    expect({ id: idOf(again), replayed: again.headers['idempotent-replayed'] }).toEqual({
      id: idOf(first),
      replayed: 'true',
    });
  });

  test('callers whose ids have spaces never meet, neither at one moment nor later', async () => {
    // "a b" with the key "c", and "a" with the key "b c".
    const [one, two] = [as(service, 'produce@names#a b'), as(service, 'produce@names#a')];
    const [first, second] = await Promise.all([
      one('POST', '/jobs', { queue: 'names' }, { 'idempotency-key': 'c' }),
      two('POST', '/jobs', { queue: 'names' }, { 'idempotency-key': 'b c' }),
    ]);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.body.id).not.toBe(second.body.id);
  });

  test('a replay needs the queue still', async () => {
    // The same id, as of a token that was issued anew with fewer queues.
    const verbs = (queues: string[]) =>
      service.engine.as(createCaller({ id: 'same', name: 'same' }, { scopes: ['produce'], queues }));
    const asked = {
      request: { route: 'POST /jobs', key: 'r', fingerprint: '0'.repeat(64) },
      jobs: [{ queue: 'replay' }],
      at: () => '',
    };
    expect(await verbs(['replay']).enqueueOnce(asked)).toMatchObject({ jobs: [{ queue: 'replay' }] });
    expect(await verbs(['replay']).enqueueOnce(asked)).toMatchObject({ replayed: true });
    await expect(verbs(['mail']).enqueueOnce(asked)).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('a claim_id of two callers: two claims; of the same caller: the same leases', async () => {
    await at.enqueueAll([{ queue: 'named.claims' }, { queue: 'named.claims' }]);
    const claim = async (who: string, claim_id: string) =>
      (
        await as(service, `consume@named.claims${who}`)('POST', '/jobs/claim', {
          queues: ['named.claims'],
          claim_id,
        })
      ).body.jobs.map(({ lease_token }: { lease_token: string }) => lease_token);
    const first = await claim('#a b', 'c');
    const second = await claim('#a', 'b c');
    expect([first.length, second.length]).toEqual([1, 1]);
    expect(second).not.toEqual(first);
    expect(await claim('#a b', 'c')).toEqual(first);
    expect(await claim('#c', 'c')).toEqual([]);
  });
});

describe('a caller that may only produce', () => {
  const producer = () => as(service, 'produce@*#only');

  test('may wait for the job that it enqueues', async () => {
    const answer = producer()('POST', '/jobs', { queue: 'waited', payload: 1 }, { prefer: 'wait=60' });
    const job = await until(async () => (await at.claim('waited'))[0]);
    await at.ok('POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token, result: 42 });
    expect(await answer).toMatchObject({ status: 200, body: { state: 'completed', result: 42 } });
  });

  test('gets a duplicate by its unique_key without its payload, whether it would wait or not', async () => {
    await at.configure('dup', { retention_seconds: 600 });
    const other = { queue: 'dup', unique_key: 'u', unique_for_seconds: 600, payload: { iban: 'secret' } };
    const first = await at.enqueue(other);
    await at.ok('DELETE', `/jobs/${first.id}`);
    for (const headers of [{}, { prefer: 'wait=5' }] as Record<string, string>[]) {
      const answer = await producer()('POST', '/jobs', { queue: 'dup', unique_key: 'u' }, headers);
      expect(answer).toMatchObject({ status: 200, body: { id: first.id, deduplicated: true } });
      expect(answer.text).not.toContain('secret');
    }
    const running = await at.enqueue({ queue: 'dup', unique_key: 'v', payload: 'secret' });
    const reader = await as(service, 'produce,read@dup')(
      'POST',
      '/jobs',
      { queue: 'dup', unique_key: 'v' },
      { prefer: 'wait=1' },
    );
    expect(reader.body).toMatchObject({ id: running.id, deduplicated: true });
  });

  test('sees and changes nothing else', async () => {
    const { id } = await at.enqueue({ queue: 'only' });
    for (const [method, path] of [
      ['GET', `/jobs/${id}`],
      ['GET', '/jobs'],
      ['GET', '/queues'],
      ['DELETE', `/jobs/${id}`],
    ] as const)
      expectProblem(await producer()(method, path), 403, 'forbidden');
    expect(await stateOf(id)).toBe('ready');
  });
});

describe('lists', () => {
  test('show only the queues of the caller, on every page, and with the cursor of another caller', async () => {
    for (const queue of ['list.a', 'list_a', 'listxa', 'list.b', 'LIST.a'])
      await at.enqueueAll(Array.from({ length: 3 }, () => ({ queue })));
    const narrow = as(service, 'read@list_a,list.b');
    async function pages(call: typeof root, path: string, of: string, cursor?: string) {
      const seen: string[] = [];
      for (let next: string | null = cursor ?? ''; next !== null; ) {
        const { body } = await call('GET', `${path}limit=2${next ? `&cursor=${next}` : ''}`);
        seen.push(...body[of].map((item: Record<string, string>) => item.queue ?? item.name));
        next = body.next_cursor;
      }
      return seen;
    }
    expect([...new Set(await pages(narrow, '/jobs?', 'jobs'))].sort()).toEqual(['list.b', 'list_a']);
    expect(await pages(narrow, '/jobs?order=oldest&', 'jobs')).toHaveLength(6);
    expect(await pages(narrow, '/queues?', 'queues')).toEqual(['list.b', 'list_a']);
    const { body } = await root('GET', '/queues?limit=1');
    const seen = await pages(narrow, '/queues?', 'queues', body.next_cursor);
    expect(new Set([...seen, 'list.b', 'list_a'])).toEqual(new Set(['list.b', 'list_a']));
    const jobs = (await root('GET', '/jobs?limit=1')).body.next_cursor;
    for (const queue of await pages(narrow, '/jobs?', 'jobs', jobs))
      expect(['list.b', 'list_a']).toContain(queue);
  });

  test('are empty for a caller without a queue', async () => {
    expect((await as(service, 'read@nothing')('GET', '/jobs')).body).toEqual({ jobs: [], next_cursor: null });
    expect((await as(service, 'read@nothing')('GET', '/queues')).body).toEqual({
      queues: [],
      next_cursor: null,
    });
  });
});

describe('schedules', () => {
  const spec = (queue: string) => ({ cron: '0 0 1 1 *', job: { queue } });
  const mail = () => as(service, 'admin@mail');

  test('of a foreign queue are 404, and their names are taken', async () => {
    await at.ok('PUT', '/schedules/theirs', spec('sms'));
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/trigger'],
    ] as const)
      expectProblem(await mail()(method, `/schedules/theirs${path}`), 404, 'schedule_not_found');
    expectProblem(await mail()('PUT', '/schedules/theirs', spec('mail')), 403, 'forbidden');
    expect((await root('GET', '/schedules/theirs')).body.job).toEqual({ queue: 'sms' });
    expect((await mail()('GET', '/schedules')).body.schedules).toEqual([]);
  });

  test('of an own queue cannot be made to enqueue into a foreign one', async () => {
    expect((await mail()('PUT', '/schedules/ours', spec('mail'))).status).toBe(200);
    expectProblem(await mail()('PUT', '/schedules/ours', spec('sms.ours')), 403, 'forbidden');
    expect((await mail()('GET', '/schedules/ours')).body.job).toEqual({ queue: 'mail' });
    expect((await mail()('POST', '/schedules/ours/trigger')).body.queue).toBe('mail');
    expect(await isThere('sms.ours')).toBe(false);
  });
});

describe('a claim', () => {
  test('of 16 queues with one foreign one is 403, and nothing is leased', async () => {
    const queues = Array.from({ length: 16 }, (_, i) => `sixteen.${i}`);
    await at.enqueueAll(queues.map((queue) => ({ queue })));
    const worker = as(service, `consume@${queues.slice(0, 15).join(',')}`);
    for (const wait_seconds of [0, 60])
      expectProblem(
        await worker('POST', '/jobs/claim', { queues, limit: 16, wait_seconds }),
        403,
        'forbidden',
      );
    for (const queue of queues) expect(await countOf(queue)).toMatchObject({ ready: 1, leased: 0 });
    const own = await worker('POST', '/jobs/claim', { queues: queues.slice(0, 15), limit: 16 });
    expect(own.body.jobs).toHaveLength(15);
  });
});
