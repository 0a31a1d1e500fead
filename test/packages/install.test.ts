import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

/** What each project does: it enqueues a job, works on it, and stops. */
const NODE = `
import { Client, Producer, Worker } from 'dibs-client';
const dibs = Client.fromEnv();
await new Producer(dibs).enqueue({ queue: 'node', payload: { to: 'ada' } });
const worker = new Worker(dibs, { queues: ['node'] }, async (job) => {
  void worker.stop();
  return 'welcomed ' + job.payload.to;
});
await worker.run();
`;
const PYTHON = `
from dibs_client import Client, Producer, Worker

def welcome(job):
    worker.stop()
    return "welcomed " + job.payload["to"]

dibs = Client.from_env()
Producer(dibs, queue="python").enqueue({"payload": {"to": "ada"}})
worker = Worker(dibs, ["python"], welcome)
worker.run()
`;
const GO = `
package main

import (
	"context"
	"log"

	"dibs.example/dibs"
)

func main() {
	client, ctx := dibs.ClientFromEnv(), context.Background()
	job := dibs.JobSpec{Queue: dibs.Ptr("go"), Payload: []byte(\`{"to": "ada"}\`)}
	if _, err := (&dibs.Producer{Client: client}).Enqueue(ctx, job); err != nil {
		log.Fatal(err)
	}
	worker := &dibs.Worker{Client: client, Queues: []string{"go"}}
	worker.Handler = func(_ context.Context, job *dibs.Work) error {
		go worker.Stop()
		job.SetResult("welcomed ada")
		return nil
	}
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
`;

const hasGo = spawnSync('go', ['version']).status === 0;
const packages = resolve('packages');
const packed = (ending: string) =>
  join(packages, readdirSync(packages).find((name) => name.endsWith(ending)) as string);
let service: Service;
let url: string;
let folder: string;

beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = mkdtempSync(join(tmpdir(), 'dibs-project-'));
  for (const queue of ['node', 'python', 'go'])
    await service.call('PUT', `/queues/${queue}`, { retention_seconds: 600 });
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (command: string, args: string[], env: object = {}) =>
  promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, DIBS_URL: url, ...env } });

async function worked(queue: string): Promise<void> {
  const { jobs } = (await service.call('GET', `/jobs?queue=${queue}`)).body;
  expect(jobs).toMatchObject([{ state: 'completed', result: 'welcomed ada', attempt: 1 }]);
}

test('the tarball for npm works in an empty project', async () => {
  writeFileSync(join(folder, 'main.mjs'), NODE);
  await run('npm', ['init', '-y']);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', packed('.tgz')]);
  await run('node', ['main.mjs']);
  await worked('node');
});

test('the wheel works in an empty environment', async () => {
  writeFileSync(join(folder, 'main.py'), PYTHON);
  await run('python3', ['-m', 'venv', 'venv']);
  const python = join(folder, 'venv/bin/python');
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', packed('.whl')]);
  await run(python, ['main.py'], { PYTHONPATH: '' });
  await worked('python');
});

test.skipIf(!hasGo)('the Go module works in an empty module', async () => {
  writeFileSync(join(folder, 'main.go'), GO);
  const env = {
    GOPROXY: `file://${packages}/go`,
    GONOSUMDB: '*',
    GOFLAGS: '-mod=mod',
    GOMODCACHE: join(folder, 'modules'),
  };
  await run('go', ['mod', 'init', 'example.com/project'], env);
  await run('go', ['get', 'dibs.example/dibs@latest'], env);
  await run('go', ['run', '.'], env);
  await run('go', ['clean', '-modcache'], env);
  await worked('go');
});
