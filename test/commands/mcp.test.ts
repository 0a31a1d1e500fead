import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../../clients/typescript/src/caller.ts';
import { ConnectionError, DibsError } from '../../clients/typescript/src/errors.ts';
import type { Operation, OperationRequest } from '../../clients/typescript/src/generated.ts';
import { createServer } from '../../commands/mcp/server.ts';
import { withKeys } from '../support/keys.ts';
import { moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { codeOf, ROOT, sources, textOf } from '../support/sources.ts';

let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ auth: 'off' });
  url = await service.listen();
  at = moves(service);
});
afterAll(() => service.stop());

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const MAIN = `${ROOT}/dist/main.js`;
const environment = (env: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  DIBS_CONFIG: '/nowhere',
  DIBS_URL: url,
  ...env,
});

/** An assistant, with the SDK's client: it starts `dibs mcp`. */
async function assistant(args: string[] = [], env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' });
  clients.push(client);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...args],
    env: environment(env),
    stderr: 'pipe',
  });
  await client.connect(transport);
  return {
    client,
    async call(name: string, input: object = {}) {
      const { content, isError } = await client.callTool({ name, arguments: { ...input } });
      const [said] = content as { text: string }[];
      return { text: said?.text ?? '', isError: isError === true };
    },
  };
}

/** An assistant at a Dibs that is only `request`. */
async function assistantAt(request: Caller['request'], allowWrites = false) {
  const server = createServer({ url: 'http://dibs.test', request } as never, { allowWrites });
  const client = new Client({ name: 'test', version: '1' });
  clients.push(client);
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there as never);
  await client.connect(here);
  return client;
}

const toolNames = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('dibs mcp', () => {
  test('only looks: a tool that changes something is there with --allow-writes only', async () => {
    const looks = (await (await assistant()).client.listTools()).tools;
    expect(looks.length).toBeGreaterThan(5);
    for (const { name, annotations } of looks)
      expect({ name, annotations }).toMatchObject({ name, annotations: { readOnlyHint: true } });
    const { client } = await assistant(['--allow-writes']);
    const more = (await client.listTools()).tools.slice(looks.length);
    expect(more.map(({ name }) => name)).toEqual([
      'retry_job',
      'cancel_job',
      'pause_queue',
      'resume_queue',
      'dry_run_operation',
      'run_operation',
      'stop_operation',
    ]);
    for (const { annotations } of more) expect(annotations?.readOnlyHint).toBe(false);
    await expect((await assistant()).call('retry_job', { job_id: UNKNOWN_ID })).rejects.toThrow('not found');
  });

  test('describes each tool, and each field of its input with its limits', async () => {
    const { client } = await assistant(['--allow-writes']);
    for (const { name, title, description, inputSchema } of (await client.listTools()).tools) {
      expect({ name, title, description }).toEqual({
        name,
        title: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\.$/),
      });
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
        expect((schema as { description?: string }).description, `${name}.${field}`).toMatch(/\S/);
    }
  });

  test('says of a wrong input which field is wrong', async () => {
    const { call } = await assistant();
    const wrong = async (name: string, input: object) => {
      const { text, isError } = await call(name, input);
      expect(isError).toBe(true);
      return text;
    };
    expect(await wrong('get_queue', {})).toMatch(/queue is required\.$/);
    expect(await wrong('get_queue', { queue: 'mail', limt: 3 })).toMatch(
      /limt is not known\. It takes: queue\.$/,
    );
    expect(await wrong('list_jobs', { state: 'daed' })).toMatch(/state must be one of scheduled, ready/);
    expect(await wrong('list_jobs', { limit: 1000 })).toMatch(/limit must be <= 100\.$/);
    expect(await wrong('list_jobs', { created_after: 'yesterday' })).toMatch(
      /created_after must be an RFC 3339/,
    );
  });

  test('tells a refusal as an error of the tool, with its detail and its code', async () => {
    const { call } = await assistant();
    const { text, isError } = await call('explain_job', { job_id: UNKNOWN_ID });
    expect(isError).toBe(true);
    expect(text).toBe(
      `There is no job "${UNKNOWN_ID}". It never existed, or it is finished and was not kept. (job_not_found)`,
    );
  });

  test('tells what dead jobs died of, who works, what a batch waits for, and why a tick was refused', async () => {
    const { call } = await assistant();
    const told = async (name: string, input: object = {}) => {
      const { text, isError } = await call(name, input);
      expect(isError, text).toBe(false);
      return JSON.parse(text);
    };
    const queue = at.newQueue('asked');
    const batch = await at.ok('POST', '/batches', { queue, jobs: [{ queue }, { queue }], closed: true });
    const [dead, held] = await at.claim(queue, { limit: 2, worker: 'ada' });
    await at.settle('nack', dead, { retry: false, error: 'SMTP 421' });
    expect(await told('get_queue_errors', { queue })).toMatchObject({
      errors: [{ error: 'SMTP #', count: 1 }],
    });
    expect(await told('list_workers', { queue })).toMatchObject({ workers: [{ worker: 'ada' }] });
    expect(await told('list_jobs', { batch: batch.id, state: 'dead' })).toMatchObject({
      jobs: [{ id: dead.id }],
    });
    expect(await told('list_batches', { queue, state: 'running' })).toMatchObject({
      batches: [{ id: batch.id }],
    });
    expect(await told('explain_batch', { batch_id: batch.id })).toMatchObject({
      code: 'jobs_unfinished',
      job_id: held.id,
    });
    await at.ok('PUT', '/schedules/nightly', { cron: '0 3 * * *', job: { queue } });
    expect(await told('list_schedules')).toMatchObject({
      schedules: [{ name: 'nightly', last_error: null }],
    });
  });

  test('tells that Dibs does not answer, and goes on', async () => {
    const { call } = await assistant([], { DIBS_URL: 'http://127.0.0.1:1' });
    for (let i = 0; i < 2; i++) {
      const { text, isError } = await call('get_queue', { queue: 'mail' });
      expect(isError).toBe(true);
      expect(text).toMatch(/^Dibs at http:\/\/127\.0\.0\.1:1 did not answer: /);
    }
  });

  test('can do what its key may do, and no more', async () => {
    const keyed = await startService({ databaseUrl: service.databaseUrl });
    try {
      const DIBS_URL = await keyed.listen();
      const { create } = await withKeys(keyed);
      const { key } = await create({ name: 'assistant', scopes: ['read'], queues: ['mail.*'] });
      await at.enqueue({ queue: 'other' });
      const { call } = await assistant(['--allow-writes'], { DIBS_URL, DIBS_KEY: key });
      expect(await call('get_queue', { queue: 'other' })).toMatchObject({
        isError: true,
        text: expect.stringMatching(/"other".*\(forbidden\)$/),
      });
      expect(await call('retry_job', { job_id: UNKNOWN_ID })).toMatchObject({
        isError: true,
        text: expect.stringMatching(/\(forbidden\)$/),
      });
      expect((await call('list_jobs')).text).toBe('{"jobs":[],"next_cursor":null}');
    } finally {
      await keyed.stop();
    }
  });

  test('answers are short, and say what they leave out', async () => {
    const { call } = await assistant();
    const queue = at.newQueue('large');
    const payload = { text: 'x'.repeat(9000) };
    const { id } = await at.enqueue({ queue, payload });
    await at.enqueueAll(Array.from({ length: 30 }, () => ({ queue, payload })));
    const one = JSON.parse((await call('get_job', { job_id: id })).text);
    expect(one.payload_text).toHaveLength(4000 + '… (cut: it has 9011 characters)'.length);
    expect(one.payload_text).toMatch(/… \(cut: it has 9011 characters\)$/);
    const { text } = await call('list_jobs', { queue, limit: 30, include_payload: true });
    expect(text.length).toBeLessThan(40_000);
    const { jobs, left_out, next_cursor } = JSON.parse(text);
    expect(jobs.length).toBeGreaterThan(0);
    expect(left_out).toMatch(new RegExp(`^${30 - jobs.length} of 30 jobs, `));
    expect(next_cursor).toBeUndefined();
  });

  test('an operation is run only after its dry run, and once', async () => {
    const { call } = await assistant(['--allow-writes']);
    const queue = at.newQueue('operated');
    await at.enqueueAll([{ queue }, { queue }]);
    const unknown = await call('run_operation', { dry_run_id: UNKNOWN_ID });
    expect(unknown).toMatchObject({ isError: true, text: expect.stringMatching(/^There is no dry run/) });
    const request = { verb: 'delete', queue, filter: { states: ['ready'] } };
    const counted = JSON.parse((await call('dry_run_operation', request)).text);
    expect(counted).toMatchObject({ matched: 2, dry_run: true, state: 'done' });
    expect(await at.ok('GET', `/queues/${queue}`)).toMatchObject({ counts: { ready: 2 } });
    const ran = await call('run_operation', { dry_run_id: counted.id });
    expect(JSON.parse(ran.text)).toMatchObject({ verb: 'delete', done: 2, dry_run: false });
    expect(await at.ok('GET', `/queues/${queue}`)).toMatchObject({ counts: { ready: 0 } });
    expect(await call('run_operation', { dry_run_id: counted.id })).toMatchObject({ isError: true });
  });

  describe('a dry run', () => {
    const REQUEST = { verb: 'delete', queue: 'mail', filter: { states: ['ready'] } };
    const refusal = (status: number) =>
      new DibsError({
        type: 'urn:problem-type:dibs:test',
        title: '',
        status,
        code: 'test',
        detail: 'Refused.',
      });

    /** A Dibs with operations, and the ids of those that it started for real. */
    async function operated({
      getOperation = async (operation: Operation) => operation,
      refusals = [] as Error[],
    } = {}) {
      const operations = new Map<string, Operation>();
      const started: string[] = [];
      const client = await assistantAt(async ({ method, path, body }) => {
        if (method === 'GET') return getOperation(operations.get(path.split('/').at(-1) ?? '') as Operation);
        const { dry_run } = body as OperationRequest;
        const refused = dry_run ? undefined : refusals.shift();
        if (refused) throw refused;
        const id = `operation-${operations.size}`;
        operations.set(id, { ...REQUEST, id, dry_run, state: dry_run ? 'done' : 'running' } as Operation);
        if (!dry_run) started.push(id);
        return operations.get(id);
      }, true);
      await client.callTool({ name: 'dry_run_operation', arguments: REQUEST });
      const run = () => client.callTool({ name: 'run_operation', arguments: { dry_run_id: 'operation-0' } });
      return { run, started };
    }

    test('is run once, also by two calls at the same time', async () => {
      const { run, started } = await operated({
        getOperation: async (operation) => ({ ...operation, state: 'done' }),
      });
      const answers = await Promise.all([run(), run()]);
      expect(started).toHaveLength(1);
      expect(answers.filter(({ isError }) => isError)).toHaveLength(1);
    });

    test('is run once, also when the operation that it started cannot be watched', async () => {
      const { run, started } = await operated({
        async getOperation(operation) {
          if (!operation.dry_run) throw refusal(404);
          return operation;
        },
      });
      const { content, isError } = await run();
      expect(isError).not.toBe(true);
      expect(JSON.parse((content as { text: string }[])[0]?.text ?? '')).toMatchObject({
        id: started[0],
        state: 'running',
      });
      expect(await run()).toMatchObject({ isError: true });
      expect(started).toHaveLength(1);
    });

    test('can be run again after a refusal, and not where it may have been started', async () => {
      const done = async (operation: Operation): Promise<Operation> => ({ ...operation, state: 'done' });
      const refused = await operated({ getOperation: done, refusals: [refusal(403)] });
      expect(await refused.run()).toMatchObject({ isError: true });
      expect(await refused.run()).not.toMatchObject({ isError: true });
      expect(refused.started).toHaveLength(1);
      const unknown = await operated({ getOperation: done, refusals: [refusal(500)] });
      expect(await unknown.run()).toMatchObject({ isError: true });
      expect(await unknown.run()).toMatchObject({ isError: true });
      expect(unknown.started).toEqual([]);
    });

    test('can be run again after a look at it that failed', async () => {
      let fails = true;
      const { run, started } = await operated({
        async getOperation(operation) {
          if (fails) throw new ConnectionError('no answer');
          return { ...operation, state: 'done' };
        },
      });
      expect(await run()).toMatchObject({ isError: true });
      fails = false;
      await run();
      expect(started).toHaveLength(1);
    });
  });

  test('pauses no queue that is not there', async () => {
    const { call } = await assistant(['--allow-writes']);
    const { text, isError } = await call('pause_queue', { queue: 'mial' });
    expect({ text, isError }).toEqual({ isError: true, text: 'There is no queue "mial". (queue_not_found)' });
    expect((await service.call('GET', '/queues/mial')).status).toBe(404);
  });

  test('speaks the protocol of 2025, too, and ends with its input', async () => {
    const dibs = spawn(process.execPath, [MAIN, 'mcp'], {
      env: environment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(dibs, 'exit');
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
    dibs.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const lines = createInterface({ input: dibs.stdout });
    const [line] = await once(lines, 'line');
    expect(JSON.parse(line)).toMatchObject({
      id: 1,
      result: { protocolVersion: '2025-03-26', serverInfo: { name: 'dibs' } },
    });
    dibs.stdin.end();
    expect(await ended).toEqual([0, null]);
  });

  test('ends its request when the assistant takes a call back', async () => {
    const silent = new EventEmitter();
    const request = (_: object, { signal }: { signal: AbortSignal }) => {
      silent.emit('request', signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const client = await assistantAt(request as never);
    const asked = once(silent, 'request');
    const taken = new AbortController();
    const call = client.callTool({ name: 'get_queue', arguments: { queue: 'q' } }, { signal: taken.signal });
    const failed = expect(call).rejects.toThrow();
    const [signal] = await asked;
    const ended = once(signal, 'abort');
    taken.abort();
    await Promise.all([failed, ended]);
  });

  test('no other command loads the SDK', () => {
    const loads = (pattern: RegExp) => sources().filter((file) => pattern.test(codeOf(file)));
    expect(loads(/from '@modelcontextprotocol/)).toEqual(['commands/mcp/server.ts']);
    expect(loads(/from '[./]*mcp\/|from '\.\/mcp\.ts'/)).toEqual([]);
  });
});

/** Each call of docs/mcp.md, and what it is answered, at least. */
const SESSION = [...textOf('docs/mcp.md').matchAll(/```mcp\n(\w+) (\{.*\})\n(\{.*\})\n```/g)].map(
  ([, name = '', input = '', answer = '']) => ({ name, input, answer }),
);

test('the session of docs/mcp.md runs as it is printed', async () => {
  expect(SESSION.length).toBeGreaterThan(5);
  const queue = 'mail.welcome';
  await at.enqueue({ queue, payload: { to: 'ada@example.com' } });
  const job = await at.claimOne(queue);
  await at.settle('nack', job, { retry: false, error: 'SMTP 421: try again later' });
  await at.ok('POST', `/queues/${queue}/pause`);
  const { call, client } = await assistant(['--allow-writes']);
  /** The ids on the page, and those here. */
  const ids = new Map([['01a1f5c2-77aa-7000-8000-0000000000c1', job.id as string]]);
  const here = (text: string) => JSON.parse(text.replaceAll(/[0-9a-f-]{36}/g, (id) => ids.get(id) ?? id));
  for (const { name, input, answer } of SESSION) {
    const { text, isError } = await call(name, here(input));
    expect(isError, text).toBe(false);
    const got = JSON.parse(text);
    const printed = JSON.parse(answer);
    if (name === 'dry_run_operation') ids.set(printed.id, got.id);
    expect(got).toMatchObject(here(answer));
  }
  expect(await toolNames(client)).toEqual(
    expect.arrayContaining(
      [...textOf('docs/mcp.md').matchAll(/`([a-z]+_[a-z_]+)`/g)].map(([, name]) => name),
    ),
  );
});
