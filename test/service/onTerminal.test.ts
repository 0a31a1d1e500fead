import { execSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { ended, startReplica } from '../support/replica.ts';
import { onTerminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let folder: string;
beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'dibs-terminal-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

const SERVE = `exec ${process.execPath} dist/main.js serve`;
const ENV = { PORT: '0', LOG_LEVEL: 'info', NO_COLOR: '1' };
const portIn = (screen: string) => /ready at http:\/\/127\.0\.0\.1:(\d+)/.exec(screen)?.[1];

describe('dibs serve on a terminal', () => {
  test('tells what it does, and then the address, the page, a first curl that works, and where the data lies', async () => {
    const dataDir = join(folder, 'new');
    const { screen } = await onTerminal(
      SERVE,
      { ...ENV, DATA_DIR: dataDir, DATABASE_URL: '' },
      async (shown, type) => {
        const curl = await until(() => /curl .*/.exec(shown())?.[0], { what: 'the first curl' });
        expect(JSON.parse(execSync(curl, { encoding: 'utf8' }))).toMatchObject({
          queue: 'mail',
          state: 'ready',
        });
        type('\x03');
      },
    );
    const at = `http://127.0.0.1:${portIn(screen)}`;
    const order = [
      `creating the embedded PostgreSQL, with its data under ${dataDir}`,
      'migrated: 0001_queues_and_jobs to ',
      `is ready at ${at}`,
      `Dashboard    ${at}/`,
      `API docs     ${at}/docs`,
      `Data         ${dataDir} (an embedded PostgreSQL)`,
      'First job    curl',
      `See it work  DIBS_URL=${at} npm run demo`,
      'stopping',
    ].map((text) => screen.indexOf(text));
    expect(order.toSorted((a, b) => a - b)).toEqual(order);
    expect(order[0]).toBeGreaterThanOrEqual(0);
    expect(screen).not.toMatch(/^\{/m);
  });

  test('a database of your own is named without its password, and requests with keys show where the key goes', async () => {
    const url = new URL(database.url);
    const env = { ...ENV, DATABASE_URL: database.url, AUTH: 'keys' };
    const { screen } = await onTerminal(SERVE, env, async (shown, type) => {
      await until(() => shown().includes('Ctrl-C'));
      type('\x03');
    });
    expect(screen).toContain(`Data         the PostgreSQL at ${url.host}\r\n`);
    expect(screen).toContain('curl -sS --fail-with-body -H "authorization: Bearer $DIBS_KEY" http');
    if (url.password) expect(screen).not.toContain(url.password);
  });

  test('LOG_FORMAT=json has JSON lines there, too', async () => {
    const env = { ...ENV, DATABASE_URL: database.url, LOG_FORMAT: 'json' };
    const { screen } = await onTerminal(SERVE, env, async (shown, type) => {
      await until(() => shown().includes('is ready at'));
      type('\x03');
    });
    const lines = screen.split(/\r?\n/).filter((line) => line !== '' && line !== '^C');
    for (const line of lines) expect(JSON.parse(line.replace(/^\^C/, ''))).toMatchObject({ level: 30 });
  });
});

describe('dibs serve without a terminal', () => {
  test('has JSON lines, and text where LOG_FORMAT=text asks for it', async () => {
    const replica = await startReplica({ DATABASE_URL: database.url });
    await replica.end('SIGTERM');
    for (const line of replica.lines) expect(JSON.parse(line)).toMatchObject({ level: 30 });

    const text = await startReplica({ DATABASE_URL: database.url, LOG_FORMAT: 'text' });
    await text.end('SIGTERM');
    const said = text.lines.join('\n');
    expect(said).toMatch(/^\d\d:\d\d:\d\d Dibs \S+ is starting at http/);
    expect(said).toContain('Dashboard    http://');
    expect(said).not.toContain('\x1b');
  });

  test('a LOG_FORMAT that is not known ends the start with one line', async () => {
    expect(await ended({ LOG_FORMAT: 'pretty' })).toEqual({
      code: 1,
      said: 'dibs: LOG_FORMAT must be one of json, text, not "pretty"\n',
    });
  });
});
