import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { Config } from '../src/config.ts';
import { StartError } from '../src/errors.ts';
import { exportTo } from '../src/transfer/exportTo.ts';
import { argumentsIn, misused } from './arguments.ts';
import { counted } from './counted.ts';
import { checkUsed, withDatabaseUrl } from './database.ts';
import { showProgress } from './progress.ts';
import { isFileError } from './usage.ts';

const USAGE = `Usage: dibs export [FILE] [--with-keys]

  Writes all queues, jobs, unique keys and schedules as they are at this moment, one JSON object on each line, to FILE or
  to standard output: those of all databases of DATABASE_URL and DATABASE_URL_<NAME>. Dibs may run meanwhile.
  A terminal gets no export: text of jobs could control it.

  --with-keys   also the access keys, as hashes

  Exit status: 0 done, 1 failed, 2 a wrong command line.
`;

/** The file has its name only when it is whole, and safe on the disk. */
async function intoFile<T>(file: string, write: (out: NodeJS.WritableStream) => Promise<T>): Promise<T> {
  const part = `${file}.part`;
  const out = createWriteStream(part, { mode: 0o600 });
  try {
    const result = await write(out);
    out.end();
    await finished(out);
    const handle = await open(part, 'r+');
    await handle.sync();
    await handle.close();
    await rename(part, file);
    return result;
  } catch (error) {
    out.destroy();
    await rm(part, { force: true });
    if (isFileError(error)) throw new StartError(`${file} cannot be written: ${error.message}.`);
    throw error;
  }
}

/** `dibs export` */
export async function exportCommand(args: string[], readConfig: () => Config): Promise<void> {
  const { values, positionals } = argumentsIn({
    args,
    options: { 'with-keys': { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.help) {
    process.stderr.write(USAGE);
    return;
  }
  if (positionals.length > 1) throw misused('dibs export takes one file.');
  const [file = '-'] = positionals;
  if (file === '-' && process.stdout.isTTY)
    throw misused('dibs export writes to no terminal: give it a FILE, or a pipe.');
  const shown = showProgress('Exported');
  const started = performance.now();
  const config = readConfig();
  const making = { mayCreate: false };
  const done = await withDatabaseUrl(config, making, async (url) => {
    await checkUsed(config, url, making);
    const write = (out: NodeJS.WritableStream) =>
      exportTo(out as NodeJS.WriteStream, {
        url,
        others: config.otherDatabases,
        withKeys: values['with-keys'] ?? false,
        progress: shown.progress,
      });
    return file === '-'
      ? write(process.stdout).catch((error) => {
          throw isFileError(error)
            ? new StartError(`Standard output took no more: ${error.message}.`)
            : error;
        })
      : intoFile(file, write);
  });
  shown.end();
  process.stderr.write(
    `Exported ${counted(done.jobs)}, ${counted(done.lines, 'line')} in all, in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`,
  );
}
