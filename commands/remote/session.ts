import { createInterface } from 'node:readline';
import type { Call, Caller } from '../../clients/typescript/src/caller.ts';
import { Client } from '../../clients/typescript/src/client.ts';
import { ConnectionError } from '../../clients/typescript/src/errors.ts';
import { jsonFor, Shown, shown } from '../shown.ts';
import { parsed, UsageError } from '../usage.ts';
import { targetOf } from './contexts.ts';
import { type Paint, paintFor, type Terminal } from './terminal.ts';

export interface GlobalOptions {
  json?: boolean;
  context?: string;
}

/** What a request was answered: the text exactly as it came, and its value. */
export interface Answer<T> {
  text: string;
  value: T;
}

/** Somebody was asked, and said no. */
export class Declined extends Error {}

/** One command that talks to one Dibs. */
export interface Session {
  terminal: Terminal;
  client: Client;
  isJson: boolean;
  paint: Paint;
  ask<T>(operation: (caller: Caller) => Promise<T>): Promise<Answer<T>>;
  out(text: Shown): void;
  /** JSON for programs, exactly as it is. */
  json(text: string): void;
  /** For people: it stands beside what programs read. */
  say(text: Shown): void;
  /** Programs get the answer as it came, people what is made of it. */
  show<T>(answer: Answer<T>, forPeople: (value: T) => Shown): void;
  /** @throws Declined, UsageError where there is nobody to ask */
  confirm(what: Shown, options: { yes?: boolean }): Promise<void>;
}

async function answerTo(question: Shown, { stdin, stderr }: Terminal): Promise<string> {
  stderr.write(question.text);
  const lines = createInterface({ input: stdin, terminal: false });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
  }
}

/** Each answer of Dibs is an object, but for some to DELETE, which are empty. @throws ConnectionError for what others answered */
function answerIn({ method, path }: Call, text: string): Answer<unknown> {
  if (text === '' && method === 'DELETE') return { text, value: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return { text, value };
  } catch {}
  throw new ConnectionError(`${method} ${path}: the answer is no JSON object`);
}

/** @throws UsageError for a context that does not exist, or whose URL or key cannot work */
export function createSession(terminal: Terminal, options: GlobalOptions): Session {
  const { from, ...target } = targetOf(terminal.env, options.context);
  const client = parsed(() => new Client(target), from && ` (${from})`);
  const isJson = options.json === true;
  const out = ({ text }: Shown) => void terminal.stdout.write(text);
  const json = (text: string) => out(new Shown(`${jsonFor(terminal.stdout, text.trimEnd())}\n`));
  const say = ({ text }: Shown) => void terminal.stderr.write(`${text}\n`);
  return {
    terminal,
    client,
    isJson,
    paint: paintFor(terminal),
    out,
    json,
    say,
    async ask<T>(operation: (caller: Caller) => Promise<T>) {
      const caller: Caller = {
        request: async (call, more) =>
          answerIn(call, String(await client.request({ ...call, asText: true }, more))),
      };
      return (await operation(caller)) as unknown as Answer<T>;
    },
    show(answer, forPeople) {
      if (isJson) json(answer.text);
      else {
        out(forPeople(answer.value));
        const { away } = (answer.value ?? {}) as { away?: string[] };
        if (away) say(shown`Without what is in ${away.join(', ')}: away.`);
      }
    },
    async confirm(what, { yes }) {
      if (yes) return;
      if (!terminal.stdin.isTTY || !terminal.stderr.isTTY)
        throw new UsageError(`${what.text} Nobody is here to confirm it: add --yes.`);
      const said = await answerTo(shown`${what}\nAt ${client.url}. Go on? [y/N] `, terminal);
      if (!/^y(es)?$/i.test(said.trim())) throw new Declined('Nothing was done.');
    },
  };
}
