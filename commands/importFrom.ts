import type { Config } from '../src/config.ts';
import { importJobs, namesOf } from '../src/transfer/importJobs.ts';
import { type Place, type SourceReader, withSource } from '../src/transfer/readSource.ts';
import { isSourceName, SOURCES } from '../src/transfer/sources.ts';
import { misused } from './arguments.ts';
import { counted } from './counted.ts';
import { withJoined } from './database.ts';
import { showProgress } from './progress.ts';
import { table } from './remote/table.ts';
import { type Env, ownTerminal, paintFor } from './remote/terminal.ts';

/** The options that only an import from another queue has. */
export const FROM_OPTIONS = {
  from: { type: 'string' },
  url: { type: 'string' },
  schema: { type: 'string' },
  'source-version': { type: 'string' },
  rename: { type: 'string', multiple: true },
  'dry-run': { type: 'boolean' },
} as const;

export interface FromValues {
  from: string;
  url?: string | undefined;
  schema?: string | undefined;
  'source-version'?: string | undefined;
  rename?: string[] | undefined;
  'dry-run'?: boolean | undefined;
  create?: boolean | undefined;
}

function placeOf({ from, url, schema, 'source-version': version }: FromValues): Place {
  if (!isSourceName(from))
    throw misused(`--from takes ${Object.keys(SOURCES).join(', ')}, and not ${JSON.stringify(from)}.`);
  if (url === undefined)
    throw misused(`--from ${from} needs --url: the database that has the jobs (postgres://user@host/name).`);
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw misused('--url takes the URL of a PostgreSQL: postgres://user@host/name.');
  if (version !== undefined && !/^\d{1,6}$/.test(version))
    throw misused('--source-version takes a whole number.');
  return { from, url, schema, version: version === undefined ? undefined : Number(version) };
}

function renamingOf(renames: string[] = []): (queue: string) => string {
  const names = new Map<string, string>();
  for (const rename of renames) {
    const at = rename.lastIndexOf('=');
    if (at < 1 || at === rename.length - 1) throw misused('--rename takes OLD=NEW, two names of queues.');
    names.set(rename.slice(0, at), rename.slice(at + 1));
  }
  return (queue) => names.get(queue) ?? queue;
}

/** What an import would do, by queue and state. */
function show({ counts }: SourceReader, queueOf: (queue: string) => string, env: Env): void {
  const terminal = ownTerminal(env);
  const rows = counts.map(({ queue, was, becomes, jobs }) => [
    queue,
    was,
    jobs,
    becomes ?? 'stays',
    queueOf(queue),
  ]);
  const { text } = table(
    ['QUEUE THERE', 'STATE THERE', 'JOBS', 'HERE', 'QUEUE HERE'],
    rows,
    terminal.stdout,
    paintFor(terminal),
  );
  process.stdout.write(text);
}

/** `dibs import --from` */
export async function importFromCommand(
  values: FromValues,
  readConfig: () => Config,
  env: Env,
): Promise<void> {
  const place = placeOf(values);
  const queueOf = renamingOf(values.rename);
  const { title } = SOURCES[place.from];
  await withSource(place, async (reader) => {
    show(reader, queueOf, env);
    namesOf(reader, queueOf);
    const all = reader.counts.reduce((sum, { becomes, jobs }) => sum + (becomes === null ? 0 : jobs), 0);
    if (all === 0) {
      process.stderr.write(
        `${title} has no jobs there that wait, are delayed or are dead. Nothing was changed.\n`,
      );
      return;
    }
    if (values['dry-run']) {
      process.stderr.write(`${counted(all)} of ${title} would be imported. Nothing was changed.\n`);
      return;
    }
    const config = readConfig();
    const making = { mayCreate: values.create ?? false };
    const started = performance.now();
    const progress = showProgress('Imported');
    const { jobs, before } = await withJoined(config, making, (databases) =>
      importJobs(reader, { ...databases, queueOf, progress: progress.progress }),
    );
    progress.end();
    const earlier = before > 0 ? ` An earlier import had taken ${counted(before, 'other job')}.` : '';
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stderr.write(
      `Imported ${counted(jobs)} of ${title} in ${seconds} s.${earlier} They are still there, too.\n`,
    );
  });
}
