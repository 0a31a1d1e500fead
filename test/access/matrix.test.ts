import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declaredOperations } from '../../routes/app.ts';
import { verbOf } from '../../routes/http/security/authenticate.ts';
import { needOf } from '../../src/access/needs.ts';
import { SCOPES, type Scope } from '../../src/caller.ts';
import type { VerbName } from '../../src/verbs.ts';
import { as, speakingAccess } from '../support/access.ts';
import { openClient } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Case, type Entry, type Fixture, OPERATIONS } from '../support/operations.ts';
import { type Answer, type Method, type Service, startService } from '../support/service.ts';
import { othersOf } from '../support/severalDatabases.ts';

/*
 * Every operation of the OpenAPI document is called with every scope and with patterns that hold its queue, or nearly do.
 * What is refused must have changed nothing in the database.
 */

interface Documented {
  operationId: string;
  security?: [object, { accessKey: [Scope] }];
  responses: Record<string, object>;
}
const { paths } = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, Documented>>;
};
const documented = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase(),
    path,
  })),
);
const scopeOf = (operationId: string) =>
  documented.find((operation) => operation.operationId === operationId)?.security?.[1]?.accessKey[0];

const GRANTED: Scope[][] = [[], ...SCOPES.map((scope) => [scope]), [...SCOPES]];
const textOf = (scopes: Scope[]) => scopes.join(',') || 'none';
const may = (granted: Scope[], needed: (Scope | undefined)[]) =>
  granted.includes('admin') || needed.every((scope) => scope === undefined || granted.includes(scope));

const PATTERNS: { name: string; of(queue: string): string; holds: boolean }[] = [
  { name: 'the queue', of: (queue) => queue, holds: true },
  { name: 'its beginning', of: () => 'own.*', holds: true },
  { name: 'all', of: () => '*', holds: true },
  { name: 'others', of: () => 'theirs.*', holds: false },
  { name: 'a shorter name', of: () => 'own', holds: false },
  { name: 'what comes below it', of: (queue) => `${queue}.*`, holds: false },
  { name: 'other letters', of: () => 'OWN.*', holds: false },
  { name: 'a wildcard of LIKE', of: () => 'own_*', holds: false },
];

let service: Service;
let root: ReturnType<typeof as>;
let at: ReturnType<typeof moves>;
/** A connection to each database of the service. */
let clients: pg.Client[];
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  const urls = [service.databaseUrl, ...Object.values(await othersOf(service.databaseUrl))];
  clients = await Promise.all(urls.map(openClient));
  root = as(service, 'admin@*#root');
  at = moves({ ...service, call: root });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await service.stop();
});

async function onAll<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const found = await Promise.all(clients.map((client) => client.query<Row>(text, values)));
  return found.flatMap(({ rows }) => rows);
}

let made = 0;
async function fixture(of: 'own' | 'theirs' = 'own'): Promise<Fixture> {
  const queue = `${of}.${++made}`;
  const schedule = `schedule.${queue}`;
  const jobs = await at.enqueueAll([{ queue }, { queue }, { queue }]);
  const [dead, leased] = await at.claim(queue, { limit: 2, lease_seconds: 43_200 });
  await at.settle('nack', dead, { retry: false });
  await at.ok('PUT', `/schedules/${schedule}`, { cron: '0 0 1 1 *', job: { queue } });
  // Its queue is in one database.
  const [operation] = await onAll<{ id: string }>(
    `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, state, finished_at, last_position,
       open_transactions, next_transaction)
     select gen_random_uuid(), 'cancel', id, name, '{dead}', false, 'done', now(), 0, '{}', 0
     from dibs.queues where name = $1
     returning id`,
    [queue],
  );
  const batch = await at.ok('POST', '/batches', { queue });
  return {
    queue,
    schedule,
    batch: batch.id,
    operation: operation?.id as string,
    ready: jobs[2].id,
    dead: dead.id,
    leased: { id: leased.id, lease_token: leased.lease_token },
  };
}

interface Snapshot {
  state: string;
  claims: string[];
}

/** All that a request could change, but for the audit. */
async function snapshot(): Promise<Snapshot> {
  const rows = await onAll<Snapshot>(
    `select
       concat_ws(' ',
         (select md5(string_agg(concat_ws(' ', id, state, run_at, attempt, deliveries, lease_token, lease_expires_at,
            position, priority), ' ' order by id)) from dibs.jobs),
         (select md5(string_agg(to_json(q)::text, ' ' order by id)) from dibs.queues q),
         (select md5(string_agg(to_json(s)::text, ' ' order by name)) from dibs.schedules s),
         (select count(*) from dibs.idempotency_keys),
         (select count(*) from dibs.operations where dry_run)
       ) as state,
       array(select mark::text from dibs.repeatable_claims) as claims`,
  );
  return {
    state: rows.map(({ state }) => state).join(),
    claims: rows.flatMap(({ claims }) => claims),
  };
}

/** Claims that are over may be pruned meanwhile. */
async function expectUnchanged(before: Snapshot): Promise<void> {
  const now = await snapshot();
  expect(now.state).toEqual(before.state);
  expect(before.claims).toEqual(expect.arrayContaining(now.claims));
}

const send = (key: string, { method }: Entry, { path, body, headers }: ReturnType<Case['call']>) =>
  as(service, key)(method, path, body, headers);

function expectForeign(answer: Answer, { foreign, shows, hides = shows }: Case, of: Fixture): void {
  if (foreign === 403) expectProblem(answer, 403, 'forbidden');
  else if (foreign === 404) {
    expect(answer.status, answer.text).toBe(404);
    expect(answer.body.code).toMatch(/^(job|schedule|operation|batch|session)_not_found$/);
  } else {
    expect(answer.status, answer.text).toBe(200);
    if (foreign === 'item 404') expect(answer.body.acks[0].status).toBe(404);
    else expect(answer.text).not.toContain(hides?.(of));
  }
}

const entries = Object.entries(OPERATIONS);
const guarded = entries.filter(([, { isPublic }]) => !isPublic);
const cases = guarded.flatMap(([id, entry]) =>
  Object.entries(entry.cases).map(([name, one]) => [id, name, entry, one] as const),
);

describe('every operation of the document', () => {
  test('is known here, and nothing else is', () => {
    expect(entries.map(([id]) => id).sort()).toEqual(documented.map(({ operationId }) => operationId).sort());
  });

  test('says which scope it needs, and answers 401 and 403, or is for anybody', () => {
    const byId = new Map(declaredOperations(pino({ level: 'silent' })).map((one) => [one.operationId, one]));
    for (const { operationId, method, path, security, responses } of documented) {
      const declared = byId.get(operationId);
      expect(declared).toMatchObject({ method, path });
      if (OPERATIONS[operationId]?.isPublic) {
        expect({ operationId, security, verb: declared?.verb }).toEqual({
          operationId,
          security: [],
          verb: 'none',
        });
        continue;
      }
      const { scope } = needOf(declared?.verb as VerbName);
      expect({ operationId, security }).toEqual({ operationId, security: [{}, { accessKey: [scope] }] });
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403']));
    }
  });

  test.each(guarded)(
    '%s without a key, or with a wrong one, is 401, and changes nothing',
    async (_, entry) => {
      const mine = await fixture();
      const before = await snapshot();
      for (const one of Object.values(entry.cases)) {
        const { path, body, headers } = one.call(mine);
        for (const authorization of [undefined, 'Bearer wrong', 'Basic YTpi', '']) {
          const sent = { ...headers, ...(authorization === undefined ? {} : { authorization }) };
          const answer = await service.call(entry.method, path, body, sent);
          expectProblem(answer, 401, 'unauthorized');
          expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
        }
      }
      expect(await snapshot()).toEqual(before);
    },
  );
});

describe.each(cases)('%s, %s', (id, _, entry, one) => {
  const needed = [scopeOf(id), one.also];
  // A snapshot reads all jobs and schedules.
  afterAll(async () => {
    await onAll('delete from dibs.jobs');
    await onAll('delete from dibs.schedules');
  });

  test.each(GRANTED.map((granted) => [textOf(granted), granted] as const))(
    'with the scopes %s',
    async (_, granted) => {
      let mine = await fixture();
      const attempts = PATTERNS.map((pattern) => ({
        pattern,
        isAllowed: may(granted, needed) && (entry.everywhere ? pattern.name === 'all' : pattern.holds),
      }));
      const attempt = ({ pattern }: (typeof attempts)[number]) =>
        send(`${textOf(granted)}@${pattern.of(mine.queue)}`, entry, one.call(mine));

      const before = await snapshot();
      for (const refused of attempts.filter(({ isAllowed }) => !isAllowed)) {
        const answer = await attempt(refused);
        if (may(granted, needed)) expectForeign(answer, one, mine);
        else expectProblem(answer, 403, 'forbidden');
      }
      await expectUnchanged(before);

      for (const allowed of attempts.filter(({ isAllowed }) => isAllowed)) {
        const answer = await attempt(allowed);
        expect(answer.status, answer.text).toBe(one.allowed);
        if (one.shows) expect(answer.text).toContain(one.shows(mine));
        if (entry.method !== 'GET') mine = await fixture();
      }
    },
  );
});

describe.each(
  guarded.flatMap(([id, entry]) =>
    Object.entries(entry.mixed ?? {}).map(([name, mixed]) => [id, name, entry, mixed] as const),
  ),
)('%s, %s', (_, __, entry, mixed) => {
  test.each(PATTERNS.slice(0, 2))('for a caller who may use only its own queue: $name', async ({ of }) => {
    const [mine, theirs] = [await fixture(), await fixture('theirs')];
    const request = await mixed.call(mine, theirs, root);
    const patterns = [mine.queue, ...[...Array(15).keys()].map((n) => `${mine.queue}${n}`), of(mine.queue)];
    const before = await snapshot();
    const answer = await send(`${textOf([...SCOPES])}@${patterns.join()}`, entry, request);
    expect(answer.status, answer.text).toBe(mixed.status);
    if (mixed.check) expect(mixed.check(answer.body, mine, theirs), answer.text).toBe(true);
    if (mixed.status >= 400) await expectUnchanged(before);
    expect((await root('GET', `/jobs/${theirs.leased.id}`)).body.state).toBe('leased');
    expect((await root('GET', `/queues/${theirs.queue}`)).body.counts).toMatchObject({
      ready: 1,
      leased: 1,
      dead: 1,
    });
  });
});

describe('beside the document', () => {
  test('a route without a declaration fails the build, hidden ones too', () => {
    const route = { method: 'GET', url: '/x', handler: () => undefined } as const;
    expect(() => verbOf({ ...route, schema: {} })).toThrow('GET /x must name its verb');
    expect(() => verbOf({ ...route, schema: { hide: true } })).toThrow('must name its verb');
    expect(() => verbOf({ ...route, config: { verb: 'none' } })).not.toThrow();
  });

  test.each([
    ['/', 200],
    ['/docs', 200],
    ['/docs/static/index.html', 302],
    ['/openapi.json', 200],
    ['/healthz', 200],
    ['/readyz', 200],
    ['/version', 200],
    ['/metrics', 401],
    ['/dashboard', 404],
  ])('%s is %i without a key, and shows no queue', async (path, status) => {
    const { queue } = await fixture();
    const answer = await service.app.inject({ method: 'GET', url: path });
    expect(answer.statusCode).toBe(status);
    expect(answer.body).not.toContain(`"${queue}"`);
  });
});

describe('the table of docs/security.md', () => {
  const rows = readFileSync('docs/security.md', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, operation, scope, , foreign] = line.split('|').map((cell) => cell.trim());
      const [, method, path] = /^`([A-Z]+) (\S+)`$/.exec(operation ?? '') ?? [];
      return path === undefined ? [] : [{ method: method as Method, path, scope, foreign }];
    });

  test('has a row for each operation, with its scope', () => {
    const text = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
    expect(rows.map(text).sort()).toEqual(documented.map(text).sort());
    for (const { operationId, ...operation } of documented) {
      const row = rows.find((row) => text(row) === text(operation));
      const scope = scopeOf(operationId);
      expect(row?.scope).toMatch(scope === undefined ? /^none/ : new RegExp(`^\`${scope}\``));
    }
  });

  test('says what is answered for a foreign queue, as it was found above', () => {
    const found = { 403: '403', 404: '404', 'left out': 'left out', 'item 404': '404 for the item' };
    for (const { operationId, method, path } of documented) {
      const row = rows.find((row) => row.method === method && row.path === path);
      const entry = OPERATIONS[operationId] as Entry;
      if (entry.isPublic) continue;
      for (const { foreign } of Object.values(entry.cases))
        expect({ operationId, foreign: row?.foreign }).toEqual({
          operationId,
          foreign: expect.stringContaining(found[foreign]),
        });
    }
  });
});
