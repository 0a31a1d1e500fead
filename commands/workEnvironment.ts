import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkerJob } from '../clients/typescript/src/index.ts';

export type Env = Record<string, string | undefined>;

/** Linux takes 128 KiB in one variable. Larger headers go into a file. */
const MOST_BYTES = 64 * 1024;
const HEADER = 'DIBS_HEADER_';
const headerName = (name: string) => HEADER + name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');

/** What `dibs work` was started with, without the headers of a job that started it. */
export const inherited = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^DIBS_HEADER(S$|S_FILE$|_)/.test(name)));

/** Gives `use` what a command learns of its job. A file that is part of it is removed afterwards. */
export async function withEnvironment<T>(job: WorkerJob, use: (env: Env) => Promise<T>): Promise<T> {
  const headers = Object.entries(job.headers).map(([name, value]) => [headerName(name), value]);
  const env: Env = {
    ...Object.fromEntries(headers),
    ...(job.headers.traceparent && { TRACEPARENT: job.headers.traceparent }),
    DIBS_JOB_ID: job.id,
    DIBS_QUEUE: job.queue,
    DIBS_ATTEMPT: String(job.attempt),
    DIBS_DELIVERIES: String(job.deliveries),
  };
  const json = JSON.stringify(job.headers);
  if (Buffer.byteLength(json) <= MOST_BYTES) return use({ ...env, DIBS_HEADERS: json });
  const folder = await mkdtemp(join(tmpdir(), 'dibs-work-'));
  try {
    const file = join(folder, 'headers.json');
    await writeFile(file, json, { mode: 0o600 });
    return await use({ ...env, DIBS_HEADERS_FILE: file });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
