// Prints the last line of a test run: the numbers of passed and failed tests, from vitest's own report (first
// argument). The second argument is the exit status of the run.
import { existsSync, readFileSync } from 'node:fs';

const [file, status] = process.argv.slice(2);
if (!existsSync(file)) {
  process.stdout.write(`The tests did not run to their end (status ${status}).\n`);
} else {
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  // A file that cannot be loaded counts as failed, because it has no tests that could fail.
  const broken = testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0).length;
  const failed = numFailedTests + broken;
  if (numPendingTests > 0) process.stdout.write(`${numPendingTests} skipped\n`);
  if (failed === 0 && status !== '0')
    process.stdout.write(`No test failed, and yet the run ended with status ${status}.\n`);
  process.stdout.write(`${numPassedTests} passed, ${failed} failed\n`);
}
