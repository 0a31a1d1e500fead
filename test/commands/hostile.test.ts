import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wholeCli } from '../../commands/remote/remote.ts';
import { jsonFor, safe } from '../../commands/shown.ts';
import { cliAt } from '../support/cli.ts';

/** Titles, colours, cursors, clipboards, directions, tags, lines that look like those of Dibs, and a lot of it. */
const HOSTILE = [
  'x\u001b]0;owned\u0007\u001b[2J\u001b[31m\u001b]52;c;aGk=\u001b\\\u001bPq\u001b\\',
  '\u009b31m\u009d0;owned\u009c\u0085\u0090\b\u007f\r\u0000\t\v\f',
  '\u202e\u2066\u200f\u061c\u2028\u2029\ufeff\u{e0041}\u00ad\u200b',
  '\nFORGED is deleted.\r\nFORGED again',
  'long '.repeat(300),
].join('');
const UNSEEN =
  /(?!\n|\t)[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff\u00ad\u{e0000}-\u{e007f}]/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it looks for.
const OWN_STYLES = /\u001b\[(0|1|2|31|32|33)m/g;

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape.
type Json = any;
const document: Json = JSON.parse(readFileSync('openapi/openapi.json', 'utf8'));

/** A value of a schema, in which each text is hostile, whatever the schema says of it. */
function hostile(schema: Json, name = '', depth = 0): Json {
  const within = (one: Json, key = name) => hostile(one, key, depth + 1);
  if (schema.$ref) return within(document.components.schemas[schema.$ref.split('/').at(-1)]);
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return within(some.find((one: Json) => one.type !== 'null') ?? some[0]);
  const type = [schema.type].flat().find((one) => one !== 'null');
  // A job may have jobs, which may have jobs.
  if (type === 'array') return depth > 8 ? [] : [within(schema.items), within(schema.items)];
  if (type === 'integer' || type === 'number') return 3;
  if (type === 'boolean') return false;
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {});
    if (members.length === 0) return { [HOSTILE]: HOSTILE };
    return Object.fromEntries(members.map(([key, value]) => [key, within(value, key)]));
  }
  // The texts of payloads are JSON.
  return name === 'payload_text' ? JSON.stringify({ [HOSTILE]: HOSTILE }) : HOSTILE;
}

function answerTo(method: string, path: string): { status: number; body: Json } {
  const like = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const templates = Object.keys(document.paths).filter(like);
  const template = templates.find((one) => one === path) ?? templates[0];
  const responses = document.paths[template as string]?.[method.toLowerCase()]?.responses ?? {};
  const status = Object.keys(responses).find((code) => code.startsWith('2')) ?? '204';
  const schema = responses[status]?.content?.['application/json']?.schema;
  return { status: Number(status), body: schema && hostile(schema) };
}

/** A server whose every answer is hostile, to the last field. */
let server: Server;
let dibs: ReturnType<typeof cliAt>;
let folder: string;
let isRefusing = false;
let refusals = 0;
const sent: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dibs-hostile-'));
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ current: HOSTILE, contexts: { [HOSTILE]: { url: HOSTILE }, good: { url: HOSTILE } } }),
  );
  writeFileSync(
    QUEUES_FILE,
    'queues: { q: {} }\nschedules: { s: { cron: "* * * * *", job: { queue: q } } }\nkeys: { k: { scopes: [read] } }\n',
  );
  server = createServer((request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url as string, 'http://localhost');
    const { status, body } = answerTo(request.method as string, pathname);
    if (searchParams.has('cursor') && body) body.next_cursor = null;
    const errors = Array(2).fill({ in: HOSTILE, path: HOSTILE, message: HOSTILE });
    // What is not of Dibs is asked again: a command says so, and waits. Then it is refused for good.
    const type = refusals++ === 0 ? HOSTILE : `urn:problem-type:dibs:${HOSTILE}`;
    const problem = { type, title: HOSTILE, detail: HOSTILE, code: HOSTILE, status: 409, errors };
    const text = isRefusing ? JSON.stringify(problem) : body === undefined ? '' : JSON.stringify(body);
    sent.push(text);
    response
      .writeHead(isRefusing ? 409 : status, {
        'content-type': isRefusing ? 'application/problem+json' : 'application/json',
      })
      .end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  dibs = cliAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
  rmSync(QUEUES_FILE);
});

const QUEUES_FILE = join(tmpdir(), `dibs-hostile-${process.pid}.yaml`);

/** How to call each command. One that is missing here fails the test. */
const CALLS: Record<string, string[][]> = {
  enqueue: [
    ['q', '1'],
    ['q', '-', '--ndjson', '-'],
  ].slice(0, 1),
  claim: [['q']],
  ack: [['id', 'token']],
  nack: [['id', 'token']],
  release: [['id', 'token']],
  extend: [['id', 'token', '--lease-seconds', '3']],
  jobs: [[], ['--payload'], ['--all']],
  job: [['id'], ['id', '--payload']],
  history: [['id']],
  explain: [['id'], ['--queue', 'q']],
  errors: [['q']],
  workers: [[], ['--queue', 'q']],
  retry: [['id'], ['--queue', 'q', '--yes'], ['--queue', 'q', '--dry-run']],
  cancel: [
    ['id', 'other'],
    ['--queue', 'q', '--yes', '--detach'],
  ],
  delete: [['q', '--state', 'dead', '--yes']],
  move: [['q', 'r', '--yes']],
  edit: [['id'], ['id', '--retry']],
  batches: [[], ['--all']],
  'batch show': [['id'], ['id', '--explain'], ['id', '--close'], ['id', '--cancel', '--yes']],
  'batch create': [['q', '--on-end', 'r']],
  'operations list': [[]],
  'operations show': [['id', '--wait']],
  'operations stop': [['id']],
  queues: [[], ['--all']],
  'queue show': [['q']],
  'queue set': [['q', '--max-leased', '3']],
  'queue delete': [['q', '--yes']],
  pause: [['q'], ['q', '--create']],
  resume: [['q']],
  purge: [['q', '--state', 'dead', '--yes']],
  redrive: [['q']],
  relocate: [
    ['q', 'b', '--dry-run'],
    ['q', 'b', '--yes'],
  ],
  diff: [[QUEUES_FILE, '--prune']],
  apply: [[QUEUES_FILE, '--prune', '--yes']],
  dump: [[]],
  'databases list': [[]],
  'databases open': [['home']],
  'databases close': [['home']],
  'schedules list': [[]],
  'schedules show': [['s']],
  'schedules put': [['s', '--cron', '* * * * *']],
  'schedules pause': [['s']],
  'schedules resume': [['s']],
  'schedules trigger': [['s']],
  'schedules delete': [['s', '--yes']],
  'keys list': [[]],
  'keys create': [['k', '--scope', 'read']],
  'keys rotate': [[HOSTILE, '--yes'], ['nobody']],
  'keys revoke': [[HOSTILE, '--yes']],
  audit: [[]],
  top: [['--once']],
  tail: [[], ['--queue', 'q', '--lines', '5']],
  'context list': [[]],
  'context set': [['new', '--url', 'http://localhost']],
  'context use': [[HOSTILE], ['nobody']],
  'context delete': [['good']],
  completion: [['bash'], ['zsh'], ['fish']],
  demo: [['--stop']],
  // What it prints of the server is the text of an error.
  bench: [],
  // It speaks JSON with a program.
  mcp: [],
};

function leaves(command: Command, path: string[] = []): string[] {
  return command.commands.flatMap((one) =>
    one.commands.length > 0 ? leaves(one, [...path, one.name()]) : [[...path, one.name()].join(' ')],
  );
}

const calls = Object.entries(CALLS).flatMap(([name, all]) =>
  all.map((args) => [...name.split(' '), ...args]),
);
const label = (args: string[]) => safe(args.join(' ')).slice(0, 50);

async function run(args: string[], columns?: number) {
  const done = new AbortController();
  sent.length = 0;
  refusals = 0;
  return dibs(args, {
    ...(columns === undefined ? { stdin: '' } : { columns }),
    ended: done.signal,
    onOutput: () => {
      if (args[0] === 'tail') done.abort();
    },
    env: { EDITOR: `sed -i 's/"priority": 3/"priority": 4/'`, DIBS_CONFIG: join(folder, 'config.json') },
  });
}

/** Nothing that a terminal obeys, but the styles of Dibs, and no line that somebody else wrote. */
function expectSafe(text: string): void {
  const plain = text.replaceAll(OWN_STYLES, '').replaceAll('\r\u001b[K', '');
  expect(UNSEEN.exec(plain)?.[0]).toBeUndefined();
  expect(/^FORGED/m.test(plain)).toBe(false);
}

describe('hostile texts in every field of every answer', () => {
  test('every command is tried', async () => {
    const program = await wholeCli({
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      env: {},
    });
    expect(leaves(program).sort()).toEqual(Object.keys(CALLS).sort());
  });

  test.each(calls.map((args) => [label(args), args] as const))(
    'dibs %s shows them, and obeys none',
    async (_, args) => {
      for (const columns of [100, undefined])
        for (const refuses of [false, true]) {
          isRefusing = refuses;
          const { stdout, stderr } = await run(args, columns);
          // Where no terminal is, a payload is exactly what was sent.
          if (columns !== undefined || !args.includes('--payload') || args[0] === 'jobs') expectSafe(stdout);
          expectSafe(stderr);
        }
      isRefusing = false;
    },
  );

  test.each(
    [
      ['jobs'],
      ['job', 'id'],
      ['queue', 'q'],
      ['claim', 'q'],
      ['schedules', 'show', 's'],
      ['audit'],
      ['top'],
      ['keys', 'list'],
    ].map((args) => [label(args), args] as const),
  )(
    'dibs %s --json prints the JSON exactly as it came; for a terminal, the same JSON with what nobody sees escaped',
    async (_, args) => {
      const { stdout } = await run([...args, '--json']);
      expect(stdout === `${sent[0]}\n`).toBe(true);
      const onTerminal = await run([...args, '--json'], 100);
      expectSafe(onTerminal.stdout);
      const again = JSON.stringify(JSON.parse(onTerminal.stdout));
      expect(again === JSON.stringify(JSON.parse(stdout))).toBe(true);
    },
  );

  test('on a terminal a line of a list or of tail is no wider than the terminal', async () => {
    for (const args of [['jobs'], ['tail'], ['queues'], ['audit']]) {
      const { stdout } = await run(args, 80);
      const lines = stdout.replaceAll(OWN_STYLES, '').split('\n');
      expect({ args, width: Math.max(...lines.map((line) => line.length)) }).toEqual({ args, width: 80 });
    }
  });
});

test('what is shown: visible characters of any language stay, what nobody sees is written out', () => {
  const text = 'Grüße, 日本語, עברית, 👩‍💻, ❤️\n\tend';
  expect(safe(text)).toBe(text);
  expect(safe('\u001b[0m\u009b\u202e\u{e0041}\r')).toBe('\\u001b[0m\\u009b\\u202e\\udb40\\udc41\\u000d');
  const json = '{"a":"\u009b\u202e\u{e0041}","b":1.10}';
  expect(jsonFor({}, json)).toBe(json);
  expect(JSON.parse(jsonFor({ isTTY: true }, json))).toEqual(JSON.parse(json));
});
