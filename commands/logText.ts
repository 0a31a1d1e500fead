import type { Output, Paint } from './remote/terminal.ts';
import { type Shown, shown, shownLines, shownTogether } from './shown.ts';

/** What a line of the log has beside its own fields. */
const COMMON = ['level', 'time', 'pid', 'hostname', 'msg', 'err'];
const WARN = 40;
const ERROR = 50;

type Line = Record<string, unknown> & { level: number; time: number; msg?: string };
interface LoggedError {
  stack?: string;
  cause?: LoggedError;
}

/** "12:03:04", by the clock of this machine */
const timeOf = (ms: number) => new Date(ms).toTimeString().slice(0, 8);

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

const stacksOf = ({ stack = '', cause }: LoggedError): string =>
  `\n${stack}${cause ? `\ncaused by${stacksOf(cause)}` : ''}`.replaceAll('\n', '\n  ');

function shownLine({ level, time, msg, err, ...fields }: Line, paint: Paint): Shown {
  const label = level >= ERROR ? paint('red', 'error ') : level >= WARN ? paint('yellow', 'warning ') : '';
  const own = Object.entries(fields).filter(([name, value]) => value !== null && !COMMON.includes(name));
  const more = shownTogether(own.map(([name, value]) => shown`  ${name}=${textOf(value)}`));
  const stacks = err === undefined ? '' : shownLines(stacksOf(err as LoggedError));
  return shown`${paint('dim', timeOf(time))} ${label}${msg}${paint('dim', more)}${stacks}\n`;
}

/** The log for people: text in place of each line of JSON. Where pino writes it to. */
export const textLog = (out: Output, paint: Paint) => ({
  write: (line: string): void => void out.write(shownLine(JSON.parse(line), paint).text),
});
