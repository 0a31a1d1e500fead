// Prints the last lines of a test run: which parts failed, what failed outside of all tests, and the numbers of passed and
// failed tests. Its argument is a folder with three files of each part: vitest's report (all.json), what it printed (all.log) and
// its exit status (all.status).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [folder] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${line}\n`);
const read = (name, kind) => readFileSync(join(folder, `${name}.${kind}`), 'utf8').trim();

const HEADINGS = [/^⎯+ Failed Suites \d+ ⎯+$/u, /^⎯+ Unhandled Errors ⎯+$/u];

/** What vitest printed of errors outside of all tests (hooks, and promises that nobody awaits): from each heading to its end. */
function outsideOfTests(printed) {
  const lines = stripVTControlCharacters(printed).split('\n');
  return HEADINGS.flatMap((heading) => {
    const first = lines.findIndex((line) => heading.test(line.trim()));
    if (first < 0) return [];
    const length = lines.slice(first).findIndex((line) => /^⎯+$/u.test(line.trim()));
    return lines.slice(first, length < 0 ? undefined : first + length).slice(0, 100);
  });
}

let [passed, failed, skipped] = [0, 0, 0];
for (const file of readdirSync(folder).filter((name) => name.endsWith('.status'))) {
  const name = basename(file, '.status');
  const status = read(name, 'status');
  if (status !== '0') print(`The part "${name}" ended with status ${status}.`);
  for (const line of outsideOfTests(read(name, 'log'))) print(line);
  if (!existsSync(join(folder, `${name}.json`))) {
    print(`The part "${name}" left no report: its tests did not run to their end.`);
    failed++;
    continue;
  }
  const report = JSON.parse(read(name, 'json'));
  passed += report.numPassedTests;
  skipped += report.numPendingTests;
  // A file that cannot be loaded, or whose hook failed, counts as failed, though none of its tests did.
  const broken = report.testResults.filter(
    (f) => f.status === 'failed' && f.assertionResults.every(({ status: verdict }) => verdict !== 'failed'),
  );
  failed += report.numFailedTests + broken.length;
  for (const { name: path, assertionResults } of report.testResults)
    for (const { status: verdict, fullName } of assertionResults)
      if (verdict === 'failed') print(`failed: ${path}: ${fullName}`);
  for (const { name: path, message } of broken) print(`failed outside of its tests: ${path}: ${message}`);
}
if (skipped > 0) print(`${skipped} skipped`);
print(`${passed} passed, ${failed} failed`);
