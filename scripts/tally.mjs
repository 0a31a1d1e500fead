// Prints the last lines of a test run: which parts failed, what failed outside of all tests, and the numbers of passed and
// failed tests. Its argument is a folder with three files of each part: vitest's report (all.json), what it printed (all.log) and
// its exit status (all.status). Files that failed may have run again, alone (all.again.json and so on): then that run counts for
// them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [folder] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${line}\n`);
const has = (name, kind) => existsSync(join(folder, `${name}.${kind}`));
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

/** A file of which no test failed, though it failed: it cannot be loaded, or its hook failed. */
const isBroken = ({ status, assertionResults }) =>
  status === 'failed' && assertionResults.every(({ status: verdict }) => verdict !== 'failed');
const failuresOf = (file) => [
  ...file.assertionResults.flatMap(({ status, fullName }) => (status === 'failed' ? [fullName] : [])),
  ...(isBroken(file) ? [`outside of its tests: ${file.message}`] : []),
];

/** The files of a part, each as it ran last. What failed at first and not again is said. */
function filesOf(name) {
  const first = JSON.parse(read(name, 'json')).testResults;
  if (!has(`${name}.again`, 'json')) return first;
  const again = new Map(
    JSON.parse(read(`${name}.again`, 'json')).testResults.map((file) => [file.name, file]),
  );
  return first.map((file) => {
    const last = again.get(file.name);
    if (!last) return file;
    const stays = new Set(failuresOf(last));
    for (const failure of failuresOf(file))
      if (!stays.has(failure)) print(`failed beside others, and passed alone: ${file.name}: ${failure}`);
    return last;
  });
}

let [passed, failed, skipped] = [0, 0, 0];
const parts = readdirSync(folder).flatMap((file) => /^([^.]+)\.status$/.exec(file)?.[1] ?? []);
for (const name of parts) {
  const last = has(`${name}.again`, 'status') ? `${name}.again` : name;
  const status = read(last, 'status');
  if (status !== '0') print(`The part "${last}" ended with status ${status}.`);
  for (const line of outsideOfTests(read(last, 'log'))) print(line);
  if (!has(name, 'json') || !has(last, 'json')) {
    print(`The part "${last}" left no report: its tests did not run to their end.`);
    failed++;
    continue;
  }
  for (const file of filesOf(name)) {
    const failures = failuresOf(file);
    failed += failures.length;
    for (const failure of failures) print(`failed: ${file.name}: ${failure}`);
    for (const { status: verdict } of file.assertionResults) {
      if (verdict === 'passed') passed++;
      else if (verdict !== 'failed') skipped++;
    }
  }
}
if (skipped > 0) print(`${skipped} skipped`);
print(`${passed} passed, ${failed} failed`);
