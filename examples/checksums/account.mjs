import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { call } from '../support/service.mjs';

/** All jobs of a queue in one state, page by page. */
export async function jobsIn(url, queue, state) {
  const jobs = [];
  const query = new URLSearchParams({ queue, state, include: 'payload', order: 'oldest', limit: '1000' });
  for (;;) {
    const page = await call(url, 'GET', `/jobs?${query}`);
    jobs.push(...page.jobs);
    if (page.next_cursor === null) return jobs;
    query.set('cursor', page.next_cursor);
  }
}

/** The sums that sha256sum gives, in the order of the files. It puts `\` before lines with odd names. */
async function sha256sum(paths) {
  const sums = [];
  for (let at = 0; at < paths.length; at += 200) {
    const { stdout } = await promisify(execFile)('sha256sum', ['--', ...paths.slice(at, at + 200)]);
    for (const line of stdout.split('\n').slice(0, -1)) sums.push(line.replace(/^\\/, '').slice(0, 64));
  }
  return sums;
}

/** Compares the results in the queue with sha256sum, file by file, except for files written after `since`. */
export async function account(url, queue, paths, since) {
  const completed = await jobsIn(url, queue, 'completed');
  const dead = await jobsIn(url, queue, 'dead');
  const collected = new Map(paths.map((path) => [path, []]));
  for (const job of completed) collected.get(job.payload.path).push(job.result.sha256);

  const done = paths.filter((path) => collected.get(path).length > 0);
  const sums = await sha256sum(done);
  const differing = done.filter((path, i) => collected.get(path).some((sum) => sum !== sums[i]));
  const changed = new Set();
  for (const path of differing) if ((await stat(path)).mtimeMs >= since) changed.add(path);
  return {
    completed,
    dead,
    changed: [...changed],
    missing: paths.filter((path) => collected.get(path).length === 0),
    twice: done.filter((path) => collected.get(path).length > 1),
    wrong: differing.filter((path) => !changed.has(path)),
  };
}
