import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { cleanUp, guard, isEnding } from './cleanup.mjs';
import { describeMachine } from './machine.mjs';
import { readOptions } from './options.mjs';
import { SETTINGS, startPostgres } from './postgres.mjs';
import { openReport } from './report.mjs';

/**
 * Runs one benchmark as a command. `work` gets the options, a PostgreSQL of its own (with more `settings`, if it needs
 * them) and the report. At the end, everything that it started is stopped. `maxSeconds` limits the whole run.
 */
export async function benchmark({ name, title, full, short, maxSeconds, settings }, work) {
  const { isShort, json, ...options } = readOptions({ full, short });
  guard(maxSeconds);
  try {
    const machine = describeMachine();
    const postgres = await startPostgres(settings);
    const report = openReport(name, title, {
      command: `node bench/${name}.mjs ${process.argv.slice(2).join(' ')}`.trim(),
      options,
      ...machine,
      postgres: postgres.version,
      'postgres settings': { ...SETTINGS, ...settings },
    });
    const started = performance.now();
    await work({ options, postgres, report });
    report.say(`Took ${Math.round((performance.now() - started) / 1000)} s.`);
    if (json) {
      mkdirSync(dirname(json), { recursive: true });
      writeFileSync(json, JSON.stringify(report.found, null, 2));
    }
  } catch (error) {
    // A signal interrupted it: the guard ends the process with its own exit code.
    if (isEnding()) return;
    process.stderr.write(`${error?.stack ?? error}\n`);
    process.exitCode = 1;
  } finally {
    await cleanUp();
  }
  // A forgotten handle must not keep the process alive.
  process.exit();
}
