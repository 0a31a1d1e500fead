import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Writes a generated file. With --check on the command line, it only fails if the file differs. */
export function writeCurrent(file, text) {
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${file} is stale: run "npm run generate" and commit it.\n`);
    process.exitCode = 1;
  }
}
