// Prints the last line of a test run: the numbers of passed and failed tests, from vitest's own reports. The first argument is
// the exit status of the run, the others are its reports.
import { existsSync, readFileSync } from 'node:fs';

const [status, ...files] = process.argv.slice(2);
const missing = files.filter((file) => !existsSync(file));
let [passed, failed, skipped] = [0, 0, 0];
for (const file of files.filter((file) => !missing.includes(file))) {
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  passed += numPassedTests;
  skipped += numPendingTests;
  // A file that cannot be loaded counts as failed, because it has no tests that could fail.
  const broken = testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0);
  failed += numFailedTests + broken.length;
}
for (const file of missing)
  process.stdout.write(`There is no ${file}: its tests did not run to their end (status ${status}).\n`);
if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
if (failed === 0 && missing.length === 0 && status !== '0')
  process.stdout.write(`No test failed, and yet the run ended with status ${status}.\n`);
process.stdout.write(`${passed} passed, ${failed + missing.length} failed\n`);
