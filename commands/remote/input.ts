import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { text as wholeText } from 'node:stream/consumers';
import { UsageError } from '../usage.ts';
import { isJson } from './jsonText.ts';
import type { Terminal } from './terminal.ts';

const streamOf = (file: string, { stdin }: Terminal) => (file === '-' ? stdin : createReadStream(file));

export const unreadable = (file: string, error: unknown) =>
  error instanceof Error && 'syscall' in error
    ? new UsageError(`${file} cannot be read: ${error.message}.`)
    : error;

/** A file, or standard input for `-`. @throws UsageError */
export async function textIn(file: string, terminal: Terminal): Promise<string> {
  try {
    return await wholeText(streamOf(file, terminal));
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** Its lines that are not empty, each with its number. @throws UsageError */
export async function* linesIn(
  file: string,
  terminal: Terminal,
): AsyncGenerator<{ line: string; at: number }> {
  const lines = createInterface({ input: streamOf(file, terminal), crlfDelay: Number.POSITIVE_INFINITY });
  let at = 0;
  try {
    for await (const line of lines) {
      at++;
      if (line.trim() !== '') yield { line, at };
    }
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** JSON as its text. With `isText`, any text as a JSON string. @throws UsageError */
export function jsonOf(text: string, isText: boolean | undefined, what = 'The payload'): string {
  if (isText) return JSON.stringify(text);
  if (!isJson(text))
    throw new UsageError(
      `${what} is not valid JSON: ${text.slice(0, 60)}. With --text it is sent as a string.`,
    );
  return text.trim();
}

/** `name=value` pairs. @throws UsageError */
export function headersOf(pairs: string[] = []): Record<string, string> | undefined {
  if (pairs.length === 0) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`--header takes NAME=VALUE, not "${pair}".`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
