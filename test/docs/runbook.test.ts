import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOCAL } from '../../commands/local.ts';
import { cliAt } from '../support/cli.ts';
import { createOtherDatabase, onServer } from '../support/database.ts';
import { hasPromtool } from '../support/promtool.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT, textOf } from '../support/sources.ts';

const rules = textOf('deploy/prometheus/rules.yaml');
const page = textOf('docs/runbook.md');
const PLACEHOLDER = 'https://dibs.example/docs/runbook.md';

const alerts = [...rules.matchAll(/- alert: (\w+)\n(.*?)(?=\n {6}- |$(?!\n))/gs)].map(
  ([, name = '', rule = '']) => ({
    name,
    severity: /severity: (\w+)/.exec(rule)?.[1],
    runbookUrl: /runbook_url: (\S+)/.exec(rule)?.[1],
  }),
);

/** The sections of the alerts, by what leads to them. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n')[0]?.toLowerCase(), section]),
);

const codeOf = (text: string): string[] =>
  [...text.matchAll(/^```bash\n(.*?)^```$/gms)].flatMap(([, code = '']) => code.trimEnd().split('\n'));
const spansOf = (text: string): string[] =>
  [...text.matchAll(/`(dibs [^`]+)`/g)].map(([, span = '']) => span);

describe('each alert', () => {
  test('has a runbook_url that leads to its section', () => {
    expect(alerts.length).toBeGreaterThan(10);
    for (const { name, runbookUrl } of alerts)
      expect(runbookUrl).toBe(`${PLACEHOLDER}#${name.toLowerCase()}`);
    expect(rules).not.toMatch(/ runbook:/);
    const headings = [...page.matchAll(/^## (Dibs\w+)$/gm)].map(([, name]) => name);
    expect(headings.toSorted()).toEqual(alerts.map(({ name }) => name).toSorted());
  });

  test.each(alerts)('$name: its section says look, decide, do', ({ name, severity }) => {
    const section = sections.get(name.toLowerCase()) ?? '';
    expect(section).toContain(`\n\`${severity}\`. `);
    const [, look = '', decide = '', todo = ''] = section.split(/^\*\*(?:Look|Decide|Do)\*\*\n/m);
    expect([...section.matchAll(/^\*\*(\w+)\*\*$/gm)].map(([, part]) => part)).toEqual([
      'Look',
      'Decide',
      'Do',
    ]);
    expect(codeOf(look).length).toBeGreaterThan(0);
    const rows = [...decide.matchAll(/^\| (\d) \| .+ \| .+ \|$/gm)].map(([, row]) => row);
    const steps = [...todo.matchAll(/^(\d)\. /gm)].map(([, step]) => step);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows).toEqual(rows.map((_, i) => `${i + 1}`));
    expect(steps, 'a way out for each row').toEqual(rows);
  });
});

test('each link of the page to a section of it leads there', () => {
  const links = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((anchor) => !sections.has(anchor))).toEqual([]);
});

test('the `sed` line of the page puts another address into each runbook_url, and Prometheus takes the rules', () => {
  const line = codeOf(page).find((one) => one.startsWith('sed ')) ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'dibs-runbook-'));
  try {
    const file = join(folder, 'dibs.rules.yaml');
    execFileSync('sh', ['-c', line.replace(/> \S+$/, '> "$0"'), file], { cwd: ROOT });
    const text = readFileSync(file, 'utf8');
    expect(text.match(/runbook_url: https:\/\/git\.example\.com\/\S+\/runbook\.md#dibs\w+/g)).toHaveLength(
      alerts.length,
    );
    expect(text).not.toContain(PLACEHOLDER);
    if (!hasPromtool) return;
    expect(execFileSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('the commands of the page', () => {
  const ofAlerts = [...sections].filter(([name]) => name?.startsWith('dibs')).map(([, section]) => section);
  const lines = ofAlerts.flatMap(codeOf);
  const starting = (word: string) => lines.filter((line) => line.startsWith(`${word} `));
  const isLocal = (line: string) => ['doctor', 'migrate', 'serve'].includes(line.split(' ')[1] as string);
  const spans = ofAlerts.flatMap(spansOf);
  let service: Service;
  let other: Awaited<ReturnType<typeof createOtherDatabase>>;
  let url: string;
  let dibs: ReturnType<typeof cliAt>;
  let id: string;

  /** The words of a line, with the variables of the page. */
  const argsOf = (line: string): string[] =>
    (line.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).slice(1).map((word) =>
      word
        .replaceAll(/^['"]|['"]$/g, '')
        .replace('$queue', 'ill')
        .replace('$id', id),
    );

  beforeAll(async () => {
    // Some metrics are told only where there are several databases.
    other = await createOtherDatabase();
    service = await startService({ others: { other: other.url } });
    url = await service.listen();
    dibs = cliAt(url, { VISUAL: 'true' });
    for (const queue of ['ill', 'mail']) await service.call('PUT', `/queues/${queue}`, {});
    await service.call('POST', '/jobs', { queue: 'ill' });
    const { body } = await service.call('POST', '/jobs/claim', { queues: ['ill'] });
    const [{ id: jobId, lease_token }] = body.jobs;
    id = jobId;
    await service.call('POST', `/jobs/${id}/nack`, { lease_token, error: 'SMTP 421', retry: false });
    await service.call('GET', '/nothing');
  });
  afterAll(async () => {
    await service.stop();
    await other.drop();
  });

  test('are lines of dibs, get, psql or the log', () => {
    expect(lines.filter((line) => !/^(dibs|get|psql|logs) /.test(line))).toEqual([]);
  });

  test('of dibs that only look do so', async () => {
    const looks = starting('dibs').filter((line) => !isLocal(line));
    expect(looks.length).toBeGreaterThan(20);
    for (const line of new Set(looks)) expect(await dibs(argsOf(line)), line).toMatchObject({ status: 0 });
  });

  test('of dibs in the text are known, with their options', async () => {
    const acts = new Set(spans.filter((span) => !isLocal(span) && span.split(' ').length > 2));
    expect(acts.size).toBeGreaterThan(10);
    for (const span of acts) {
      const { status, stderr } = await dibs(argsOf(span), { types: 'n\n' });
      expect([0, 1], `${span}: ${stderr}`).toContain(status);
      expect(stderr).not.toContain('unknown');
    }
  });

  test('of dibs at a database are known, with their options', () => {
    const local = [...starting('dibs'), ...spans].filter(isLocal);
    expect(local.length).toBeGreaterThan(5);
    for (const line of local) {
      const [command = '', ...args] = argsOf(line);
      const options = args.filter((arg) => arg.startsWith('--'));
      expect(LOCAL[command]?.options, line).toEqual(expect.arrayContaining(options));
    }
  });

  test('of get get an answer, with the metrics that they look for', async () => {
    // Those of Prometheus were tried by hand.
    const calls = new Set(starting('get').filter((line) => !line.includes('$prometheus')));
    expect(calls.size).toBeGreaterThan(8);
    const get = codeOf(page).find((line) => line.startsWith('get() '));
    for (const line of calls) {
      const env = { ...process.env, replica: url, DIBS_URL: url };
      const script = `set -euo pipefail\n${get}\n${line}`;
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { env });
      expect(stdout, line).toMatch(/\S/);
    }
  });

  test('of psql are SQL that the database takes', async () => {
    const queries = new Set([...page.matchAll(/psql "\$admin" -c "([^"]+)"/g)].map(([, sql = '']) => sql));
    expect(queries.size).toBeGreaterThan(3);
    for (const sql of queries) await onServer(service.databaseUrl, `explain ${sql}`);
  });
});
