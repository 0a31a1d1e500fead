// Prints the test files of a run that failed, one a line: those that a second run, alone, may clear. Its arguments are the two
// files of a part: vitest's report, and what it printed. It prints none when the fault is a wider one: no report, an error outside
// of all files, or more than 8 files.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const MOST = 8;

const [report, log] = process.argv.slice(2);
if (existsSync(report) && !readFileSync(log, 'utf8').includes('Unhandled Errors')) {
  const failed = JSON.parse(readFileSync(report, 'utf8')).testResults.filter(
    ({ status }) => status === 'failed',
  );
  if (failed.length <= MOST)
    for (const { name } of failed) process.stdout.write(`${relative(process.cwd(), name)}\n`);
}
