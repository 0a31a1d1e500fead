import { createReadStream } from 'node:fs';
import type { Config } from '../src/config.ts';
import { StartError } from '../src/errors.ts';
import { checkFile, importFrom } from '../src/transfer/importFrom.ts';
import { argumentsIn, misused } from './arguments.ts';
import { counted } from './counted.ts';
import { withJoined } from './database.ts';
import { FROM_OPTIONS, importFromCommand } from './importFrom.ts';
import { showProgress } from './progress.ts';
import type { Env } from './remote/terminal.ts';
import { isFileError } from './usage.ts';

const USAGE = `Usage: dibs import FILE [--create] [--new-ids]
       dibs import --from pg-boss|river|oban --url URL [--dry-run] [--create]

  The first form puts the queues, jobs, unique keys, schedules and access keys of an export into the database, or into several
  (DATABASE_URL and each DATABASE_URL_<NAME>): a queue that is there stays where it is, a new one goes where a new queue goes.
  FILE may be - for standard input. A file is read to its end first: nothing is written when it is not whole. An import that was broken off
  goes on when it is run again with the same file. Its queues are paused until it has ended.

  --create    make the database, if it is not there yet
  --new-ids   give the jobs the queues' ids of this database: for one where queues exist already

  The second form takes the waiting, delayed and dead jobs of another queue on PostgreSQL. It changes nothing there. It can be
  run again: no job is taken twice. Jobs that are being worked on stay. It prints what it takes before it begins.

  --from              pg-boss, river or oban
  --url URL           the database that has its jobs; the environment may have its password (PGPASSWORD)
  --schema NAME       the schema of its tables, if it is not pgboss (pg-boss) or public (River, Oban)
  --rename OLD=NEW    what a queue is called here; for several queues, several times
  --source-version N  take a version of its tables that this Dibs does not know
  --dry-run           print how many jobs there are by queue and state, and change nothing

Examples:
  $ dibs import all.ndjson
  $ dibs import --from river --url postgres://app@db/shop --dry-run

  Exit status: 0 done, 1 failed, 2 a wrong command line.
`;

/** The first few names, and how many more there are. */
const someOf = (names: string[]) =>
  names.slice(0, 5).join(', ') + (names.length > 5 ? `, and ${names.length - 5} more` : '');

/** `dibs import` */
export async function importCommand(args: string[], readConfig: () => Config, env: Env): Promise<void> {
  const { values, positionals } = argumentsIn({
    args,
    options: {
      create: { type: 'boolean' },
      'new-ids': { type: 'boolean' },
      help: { type: 'boolean' },
      ...FROM_OPTIONS,
    },
    allowPositionals: true,
  });
  if (values.help) {
    process.stderr.write(USAGE);
    return;
  }
  const { from, ...others } = values;
  if (from !== undefined) {
    if (positionals.length > 0 || values['new-ids'])
      throw misused('dibs import --from takes no file, and no --new-ids.');
    return importFromCommand({ ...others, from }, readConfig, env);
  }
  const only = Object.keys(FROM_OPTIONS).find((option) => option in values);
  if (only !== undefined) throw misused(`--${only} goes with --from only.`);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw misused('dibs import takes one file.');
  const config = readConfig();
  const making = { mayCreate: values.create ?? false };
  const stream = () => (file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 2 ** 18 }));
  if (file !== '-') {
    const checking = showProgress('Checked');
    await checkFile(stream(), checking.progress).catch((error) => {
      if (isFileError(error)) throw new StartError(`${file} cannot be read: ${error.message}.`);
      throw error;
    });
    checking.end();
  }
  const shown = showProgress('Imported');
  const started = performance.now();
  const { jobs, skipped, before, deleted } = await withJoined(config, making, (databases) =>
    importFrom(stream(), {
      ...databases,
      newIds: values['new-ids'] ?? false,
      progress: shown.progress,
    }),
  );
  shown.end();
  if (deleted) {
    const gone =
      deleted.length > 0
        ? ` Queues of it were deleted since: ${someOf(deleted)}. Their jobs are not there.`
        : '';
    process.stderr.write(
      `Nothing was imported: an earlier import of this file has put in ${counted(jobs)}, and has ended.${gone}\n`,
    );
    return;
  }
  const earlier = before > 0 ? ` An earlier import had put in ${counted(before, 'line')}.` : '';
  const left =
    skipped > 0
      ? ` ${counted(skipped, 'line', { one: 'was', many: 'were' })} left out: there are such schedules, keys or unique keys already.`
      : '';
  process.stderr.write(
    `Imported ${counted(jobs)} in ${((performance.now() - started) / 1000).toFixed(1)} s.${earlier}${left}\n`,
  );
}
