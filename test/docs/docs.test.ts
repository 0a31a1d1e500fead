import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProblemCode } from '../../routes/http/answers/httpRefusal.ts';
import { PROBLEM_CODES, toProblem } from '../../routes/http/answers/problems.ts';
import { Refusal } from '../../src/errors.ts';
import { JOB_STATES } from '../../src/job.ts';
import { EXPLAIN_CODES } from '../../src/verbs/jobs.ts';
import { QUEUE_EXPLAIN_CODES } from '../../src/verbs/queues.ts';
import { ROOT, textOf } from '../support/sources.ts';

const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

const withoutCode = (text: string) => text.replaceAll(/^```.*?^```$/gms, '');

describe('the documents', () => {
  test('link only to files that exist', () => {
    const broken = pages.flatMap((page) =>
      [...withoutCode(textOf(page)).matchAll(/\]\((?!https?:)([^)#]+)/g)]
        .map((match) => posix.join(posix.dirname(page), match[1] as string))
        .filter((path) => !existsSync(`${ROOT}${path}`))
        .map((path) => `${page} -> ${path}`),
    );
    expect(broken).toEqual([]);
  });

  test('call curl so that a refusal is an error and still tells its reason, and need no `uuidgen`', () => {
    const lines = pages.flatMap((page) =>
      textOf(page)
        .split('\n')
        .map((line) => `${page}: ${line}`),
    );
    const calls = lines.filter((line) => /\bcurl -/.test(line));
    expect(calls.length).toBeGreaterThan(20);
    expect(calls.filter((line) => !line.includes('--fail-with-body'))).toEqual([]);
    expect(lines.filter((line) => line.includes('uuidgen'))).toEqual([]);
  });

  test('exist, when a comment in src names them', () => {
    const named = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [...textOf(`src/${file}`).matchAll(/docs\/[\w/.-]+\.md/g)].map((match) => match[0]));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
  });

  test('have every code with its status, and no other, in docs/problems.md', () => {
    const rows = [...textOf('docs/problems.md').matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];
    expect(rows.map((row) => row[1]).sort()).toEqual(PROBLEM_CODES.toSorted());
    for (const [, code, status] of rows)
      expect(toProblem(new Refusal<ProblemCode>(code as ProblemCode, '')).status, code).toBe(Number(status));
  });

  test('have every code of an explanation, and no other, in docs/consuming.md', () => {
    const codesOf = (heading: string) => {
      const section = textOf('docs/consuming.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
      const [, ...rows] = [...section.matchAll(/^\| ([`\w, ]+) \|/gm)].map((match) => match[1] as string);
      return rows.flatMap((row) => row.replaceAll('`', '').split(', '));
    };
    expect(codesOf('Why is my job not running?').sort()).toEqual(EXPLAIN_CODES.toSorted());
    expect(codesOf('Why does my claim get nothing?').sort()).toEqual(QUEUE_EXPLAIN_CODES.toSorted());
  });

  test('have every state, and every constraint of the table, in docs/lifecycle.md', () => {
    const text = textOf('docs/lifecycle.md');
    const jobs = /create table dibs\.jobs .*?\n\)/s.exec(textOf('sql/schema.sql'))?.[0] ?? '';
    const inTests = textOf('test/support/invariants.sql');
    const constraints = [...`${jobs}\n${inTests}`.matchAll(/^ {2}(?:add )?constraint (\w+)/gm)].map(
      (match) => match[1] as string,
    );
    expect(constraints).toEqual(expect.arrayContaining(['job_state', 'job_token']));
    const rows = [...text.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]);
    expect(rows).toEqual(expect.arrayContaining([...JOB_STATES, ...constraints]));
  });
});
