import { type ParseArgsConfig, parseArgs } from 'node:util';
import { suggestion } from './suggestion.ts';
import { UsageError } from './usage.ts';

/** The command line is wrong, and this is where to read what is right. */
export const misused = (why: string): UsageError =>
  new UsageError(`${why}\nAdd --help to see what it takes.`);

/** @throws UsageError that says what is wrong in a line */
export function argumentsIn<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { message } = error as Error;
    const [, option] = /^Unknown option '(--?[^']+)'/.exec(message) ?? [];
    if (option === undefined) throw misused(message);
    const known = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    throw misused(`unknown option '${option}'${suggestion(option, known)}`);
  }
}
