// Sends random requests, made from openapi/openapi.json by schemathesis, to a Dibs of its own with an embedded PostgreSQL.
//   npm run test:fuzz -- [--requests 50000] [--seed 1]
// It needs python3 with venv. The first run installs schemathesis beside the temporary files.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../bench/lib/ports.mjs';

const VERSION = '4.32.5';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
];
/** About so many requests come of one example for each operation. */
const REQUESTS_PER_EXAMPLE = 45;
const MOST_EXAMPLES = 50;

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '50000' }, seed: { type: 'string', default: '1' } },
});
const wanted = Number(values.requests);
let seed = Number(values.seed);

function installed() {
  const folder = join(tmpdir(), `dibs-schemathesis-${VERSION}`);
  const done = join(folder, '.done');
  if (!existsSync(done)) {
    rmSync(folder, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    execFileSync(join(folder, 'bin/python'), [...pip, `schemathesis==${VERSION}`], { stdio: 'inherit' });
    writeFileSync(done, '');
  }
  return join(folder, 'bin/st');
}

/** Dibs, alone with its database. What it logs as an error is kept. */
async function startDibs(dataDir) {
  const port = await freePort();
  const { DATABASE_URL, DATABASE_LISTEN_URL, ...others } = process.env;
  const env = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: String(port), AUTH: 'off', LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    env: { ...others, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      log += chunk;
    });
  let isStopping = false;
  child.once('exit', (code, signal) => {
    if (!isStopping) log += `Dibs ended by itself, with ${signal ?? code}.\n`;
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`Dibs does not start:\n${log}`);
    await sleep(200);
  }
  return {
    url,
    log: () => log,
    async stop() {
      if (isStopping || child.exitCode !== null || child.signalCode !== null) return;
      isStopping = true;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

const fuzzer = installed();
const folder = mkdtempSync(join(tmpdir(), 'dibs-fuzz-'));
const answersFile = join(folder, 'answers.json');
const answers = () => (existsSync(answersFile) ? JSON.parse(readFileSync(answersFile, 'utf8')) : {});
const sent = () => Object.values(answers()).reduce((sum, count) => sum + count, 0);

/** Runs some phases of the fuzzer. True: it found nothing. */
function fuzz(url, ...phases) {
  const { status } = spawnSync(
    fuzzer,
    [
      'run',
      resolve('openapi/openapi.json'),
      ...['--url', url, '--checks', CHECKS.join(), '--seed', String(seed)],
      ...['--continue-on-failure', '--warnings', 'off', '--request-timeout', '30', '--phases', ...phases],
    ],
    {
      cwd: folder,
      stdio: 'inherit',
      env: {
        ...process.env,
        SCHEMATHESIS_HOOKS: 'hooks',
        PYTHONPATH: resolve('test/fuzz'),
        PYTHONDONTWRITEBYTECODE: '1',
        FUZZ_ANSWERS: answersFile,
      },
    },
  );
  return status === 0;
}

/** How many answers of each status came, from how many operations. */
function print(counts) {
  const rows = new Map();
  for (const [key, count] of Object.entries(counts)) {
    const status = key.split(' ')[1];
    const row = rows.get(status) ?? { answers: 0, operations: 0 };
    rows.set(status, { answers: row.answers + count, operations: row.operations + 1 });
  }
  for (const [status, { answers, operations }] of [...rows].sort())
    console.log(`${status}: ${answers} answers, from ${operations} operations`);
}

let dibs;
try {
  dibs = await startDibs(join(folder, 'data'));
  let isGood = fuzz(dibs.url, 'examples,coverage');
  while (isGood && sent() < wanted) {
    const before = sent();
    const examples = Math.ceil((wanted - before) / REQUESTS_PER_EXAMPLE);
    seed++;
    isGood = fuzz(dibs.url, 'fuzzing,stateful', '--max-examples', String(Math.min(examples, MOST_EXAMPLES)));
    if (sent() === before) throw new Error('The fuzzer sent nothing.');
  }
  await dibs.stop();
  print(answers());
  console.log(`${sent()} requests were answered.`);
  if (dibs.log()) console.log(`Dibs logged errors:\n${dibs.log()}`);
  process.exitCode = isGood && !dibs.log() ? 0 : 1;
} finally {
  await dibs?.stop();
  rmSync(folder, { recursive: true, force: true });
}
