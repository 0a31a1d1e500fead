import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openQueuesFile } from '../../queuesFile/atStart.ts';
import { completeConfig } from '../../routes/http/json/queueBody.ts';
import { queueBusy, queueElsewhere, StartError, tooManyQueues, unavailable } from '../../src/errors.ts';
import { ended, http, startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let folder: string;
let service: Service;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dibs-queues-'));
  service = await startService();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
});

let files = 0;
function fileOf(text: string): string {
  const path = join(folder, `queues-${++files}.yaml`);
  writeFileSync(path, text);
  return path;
}

/** What a file is applied with, and what it logs. */
function opened(path: string, databases = ['home']) {
  const lines: string[] = [];
  const log = {
    info: (line: string) => lines.push(line),
    warn: (line: string) => lines.push(`warn: ${line}`),
    error: (line: string) => lines.push(`error: ${line}`),
  };
  const stop = new AbortController();
  const file = openQueuesFile(path, { databases, log, stop: stop.signal, againMs: 20 });
  return { lines, stop, applyTo: (engine: Parameters<typeof file.applyTo>[0]) => file.applyTo(engine) };
}

async function applied(path: string, to = service.engine): Promise<string[]> {
  const { lines, applyTo } = opened(path);
  await applyTo(to);
  return lines;
}

const body = async (path: string) => (await service.call('GET', path)).body;

describe('QUEUES_FILE at the start', () => {
  test('changes what differs, deletes nothing, and is noted in the audit', async () => {
    await service.call('PUT', '/queues/start.other', { max_leased: 3 });
    const path = fileOf(`queues:
  start.mail: { max_leased: 5 }
schedules:
  start.nightly: { cron: "0 3 * * *", job: { queue: start.mail, payload: { n: 12345678901234567890 } } }
keys:
  mailer: { scopes: [produce], queues: [start.mail] }
`);
    expect(await applied(path)).toEqual([
      `QUEUES_FILE ${path}: 2 of 2 differences are applied`,
      `warn: QUEUES_FILE ${path}: an access key differs. Run: dibs keys create mailer --scope produce --queue start.mail`,
    ]);
    expect((await body('/queues/start.mail')).config).toMatchObject({ max_leased: 5 });
    expect((await body('/queues/start.other')).config).toMatchObject({ max_leased: 3 });
    const { text } = await service.call('GET', '/schedules/start.nightly');
    expect(text).toContain('{"n":12345678901234567890}');
    const { entries } = await body('/audit?queue=start.mail');
    expect(entries).toMatchObject([
      { actor: 'QUEUES_FILE', verb: 'putSchedule', outcome: 'done' },
      { actor: 'QUEUES_FILE', verb: 'configureQueue', outcome: 'done' },
    ]);

    await service.call('PUT', '/queues/start.mail', { max_leased: 9 });
    expect((await applied(path))[0]).toBe(`QUEUES_FILE ${path}: 1 of 1 differences are applied`);
    expect((await body('/queues/start.mail')).config).toMatchObject({ max_leased: 5 });
    expect(await applied(path)).toHaveLength(1);
    expect((await body('/audit?queue=start.mail')).entries).toHaveLength(4);
  });

  test('dead letter queues that change places hold up no start', async () => {
    await service.call('PUT', '/queues/turn.a', { dead_letter_queue: 'turn.b' });
    const path = fileOf('queues:\n  turn.b: { dead_letter_queue: turn.a }\n  turn.a: {}\n');
    expect(await applied(path)).toEqual([`QUEUES_FILE ${path}: 2 of 2 differences are applied`]);
    expect((await body('/queues/turn.b')).config.dead_letter_queue).toBe('turn.a');
  });

  test('a dead letter queue that is gone is made again', async () => {
    const path = fileOf('queues:\n  again: { dead_letter_queue: again.dead }\n');
    await applied(path);
    await service.call('DELETE', '/queues/again.dead');
    expect(await applied(path)).toEqual([`QUEUES_FILE ${path}: 1 of 1 differences are applied`]);
    expect((await service.call('GET', '/queues/again.dead')).status).toBe(200);
  });

  test('replicas that start at once with one file agree, also about dead letter queues', async () => {
    const queues = Array.from(
      { length: 20 },
      (_, i) => `  many.q${i}: { max_leased: ${i + 1}, dead_letter_queue: many.q${i + 1} }\n`,
    ).join('');
    const path = fileOf(`queues:\n${queues}`);
    const other = await startService({ databaseUrl: service.databaseUrl });
    try {
      await Promise.all([applied(path), applied(path, other.engine), applied(path)]);
    } finally {
      await other.stop();
    }
    expect(await applied(path)).toEqual([]);
  });

  test('a dead letter queue that somebody set by hand, and that leads back, is told as an error, and holds up no start', async () => {
    const path = fileOf('queues:\n  back.a: { dead_letter_queue: back.b }\n  back.c: { max_leased: 2 }\n');
    await applied(path);
    await service.call('PUT', '/queues/back.a', {});
    await service.call('PUT', '/queues/back.b', { dead_letter_queue: 'back.a' });
    await service.call('PUT', '/queues/back.c', {});
    expect(await applied(path)).toEqual([
      `error: QUEUES_FILE ${path}: queue "back.a", line 2, is not applied: /dead_letter_queue must not lead back to this queue: ` +
        'back.a → back.b → back.a. Change the dead letter queue of back.b first. The replica serves without it. Mend that, and ' +
        'run `dibs apply`, or start a replica anew.',
      `QUEUES_FILE ${path}: 1 of 2 differences are applied`,
    ]);
    expect((await body('/queues/back.c')).config.max_leased).toBe(2);
    await service.call('PUT', '/queues/back.b', {});
    expect(await applied(path)).toEqual([`QUEUES_FILE ${path}: 1 of 1 differences are applied`]);
  });

  test.each([
    ['its dead letter queue is in another database', queueElsewhere('b', 'east')],
    ['there can be no more queues', tooManyQueues()],
  ])('where %s, that is told as an error, and holds up no start', async (_, refusal) => {
    const verbs = {
      listQueues: async () => ({ queues: [] }),
      configureQueue: async ({ queue }: { queue: string }) => {
        if (queue === 'a') throw refusal;
      },
    };
    const lines = await applied(fileOf('queues:\n  a: { dead_letter_queue: b }\n  c: {}\n'), {
      as: () => verbs,
    } as never);
    expect(lines[0]).toMatch(/^error: QUEUES_FILE \S+: queue "a", line 2, is not applied: /);
    expect(lines[0]).toContain(refusal.message);
    expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(2);
    expect(lines.at(-1)).toMatch(/: 1 of 3 differences are applied$/);
  });

  test('a database that this replica does not have is a mistake of the file, whether the queue is there or not', async () => {
    await service.call('PUT', '/queues/placed', {});
    for (const queue of ['placed', 'unplaced']) {
      const path = fileOf(`queues:\n  other: {}\n  ${queue}: { database: nowhere }\n`);
      expect(() => opened(path)).toThrow(StartError);
      expect(() => opened(path)).toThrow(
        `QUEUES_FILE ${path}, line 3, column ${queue.length + 7}: /queues/${queue}/database must be the name of a database: home.`,
      );
    }
    expect((await service.call('GET', '/queues/other')).status).toBe(404);
  });

  test('what is on its way to another database is tried again, told once, and holds up no start', async () => {
    let refused = 0;
    const seen: string[] = [];
    const verbs = {
      listQueues: async () => ({ queues: [] }),
      configureQueue: async ({ queue }: { queue: string }) => {
        if (refused < 3) {
          refused++;
          throw queueBusy('b', 'is being relocated to the database "east"');
        }
        seen.push(queue);
      },
    };
    const { applyTo, lines, stop } = opened(fileOf('queues:\n  a: { dead_letter_queue: b }\n  b: {}\n'));
    await applyTo({ as: () => verbs } as never);
    expect(seen).toEqual([]);
    await until(() => seen.includes('a'), { what: 'the queue whose dead letter queue was relocated' });
    expect(lines.filter((line) => line.includes('queue "a" is not applied yet'))).toHaveLength(1);
    stop.abort();
  });

  test('new queues that share dead letters go to one database: the one of which the file tells, or where one of them is', async () => {
    const file = fileOf(`queues:
  a.dead: {}
  a: { dead_letter_queue: a.dead }
  b: { dead_letter_queue: a.dead, database: east }
  c: { dead_letter_queue: there }
  d: { dead_letter_queue: d.dead }
  d.dead: {}
`);
    const seen: Record<string, string | undefined> = {};
    const verbs = {
      listQueues: async () => ({ queues: [{ ...completeConfig({}), name: 'there', database: 'west' }] }),
      configureQueue: async ({ queue, database }: { queue: string; database?: string }) => {
        seen[queue] = database;
      },
    };
    const { applyTo } = opened(file, ['home', 'east', 'west']);
    await applyTo({ as: () => verbs } as never);
    expect(seen).toEqual({
      'a.dead': 'east',
      a: 'east',
      b: 'east',
      c: 'west',
      d: undefined,
      'd.dead': undefined,
    });
  });

  test('what is away follows when it is back, and holds up no start', async () => {
    let isAway = true;
    const seen: string[] = [];
    const verbs = {
      listQueues: async () => ({ queues: [] }),
      configureQueue: async ({ queue }: { queue: string }) => {
        if (isAway && queue === 'east.a') throw unavailable();
        seen.push(queue);
      },
    };
    const { applyTo, lines, stop } = opened(fileOf('queues:\n  east.a: {}\n  home.a: {}\n'));
    await applyTo({ as: () => verbs } as never);
    expect(seen).toEqual(['home.a']);
    expect(lines[0]).toContain('queue "east.a" is not applied yet, and will be tried again');
    isAway = false;
    await until(() => seen.includes('east.a'), { what: 'the queue of the database that was away' });
    stop.abort();
  });
});

describe('dibs serve', () => {
  test('applies the file before it serves', async () => {
    const path = fileOf('queues:\n  served: { max_attempts: 7 }\n');
    const replica = await startReplica({ DATABASE_URL: service.databaseUrl, QUEUES_FILE: path });
    expect((await http(replica.url, 'GET', '/queues/served')).body.config.max_attempts).toBe(7);
    await replica.end('SIGTERM');
  });

  test('serves, where a dead letter queue that somebody set by hand leads back', async () => {
    const path = fileOf('queues:\n  hand.a: { dead_letter_queue: hand.b }\n');
    await service.call('PUT', '/queues/hand.b', { dead_letter_queue: 'hand.a' });
    const environment = { DATABASE_URL: service.databaseUrl, QUEUES_FILE: path };
    const replicas = await Promise.all([startReplica(environment), startReplica(environment)]);
    for (const replica of replicas) {
      expect((await http(replica.url, 'GET', '/queues/hand.b')).body.config.dead_letter_queue).toBe('hand.a');
    }
    await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
  });

  test('does not start with a file that is wrong, or not there, and says so in one line', async () => {
    const DATABASE_URL = service.databaseUrl;
    const path = fileOf('queues:\n  a:\n    max_lease: 5\n  b: { max_leased: 0 }\n');
    expect(await ended({ DATABASE_URL, QUEUES_FILE: path })).toEqual({
      code: 1,
      said: `dibs: QUEUES_FILE ${path}, line 3, column 5: /queues/a/max_lease is not a known field. \`dibs diff\` tells the others.\n`,
    });
    expect(await ended({ DATABASE_URL, QUEUES_FILE: '/nowhere/q.yaml' })).toEqual({
      code: 1,
      said: 'dibs: QUEUES_FILE /nowhere/q.yaml cannot be read: ENOENT\n',
    });
  });
});
