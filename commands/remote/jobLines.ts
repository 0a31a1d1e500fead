import type { Command } from 'commander';
import { UsageError } from '../usage.ts';
import { jsonOf, linesIn } from './input.ts';
import { type JobOptions, specOf } from './jobOptions.ts';
import { members, objectOf } from './jsonText.ts';
import type { Terminal } from './terminal.ts';

/** Where many jobs come from: a file with one on each line. */
export interface JobLines {
  ndjson?: string;
  specs?: string;
  text?: boolean;
}

export const withJobLines = (command: Command): Command =>
  command
    .option('--ndjson <file>', 'one job for each line, which is its payload ("-": standard input)')
    .option('--specs <file>', 'one job for each line, which is what POST /jobs takes ("-": standard input)');

/** One line of `--specs`: the body of `POST /jobs`. The queue and the batch of the command line are for those that name none. */
function specIn(line: string, usual: [string, string][]): string {
  const given = members(line);
  if (!given) throw new UsageError(`A line of --specs must be an object, not ${line.slice(0, 60)}`);
  const missing = usual.filter(([name]) => !given.has(name));
  return missing.length > 0 ? objectOf([...missing, ...given]) : line;
}

/** The jobs of a file, each as the body of `POST /jobs`. @throws UsageError */
export async function* jobsIn(
  terminal: Terminal,
  queue: string,
  options: JobLines & JobOptions,
): AsyncGenerator<string> {
  const { ndjson, specs, text, batch } = options;
  const usual: [string, string][] = [['queue', JSON.stringify(queue)]];
  if (batch !== undefined) usual.push(['batch', JSON.stringify(batch)]);
  for await (const { line, at } of linesIn(ndjson ?? specs ?? '-', terminal)) {
    const json = jsonOf(line, text, `Line ${at}`);
    yield specs === undefined ? specOf(queue, json, options) : specIn(json, usual);
  }
}
