import { Shown, shown } from '../shown.ts';

export type Env = Record<string, string | undefined>;

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** Where a command reads and writes. Tests hand in one of their own. */
export interface Terminal {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  stdout: Output;
  stderr: Output;
  env: Env;
  /** Ends a command that goes on until it is told to end. Otherwise a signal of the system does. */
  ended?: AbortSignal;
}

/** When a command that goes on must end. `release` lets go of the signals of the system. */
export function untilEnded(terminal: Terminal): { signal: AbortSignal; end(): void; release(): void } {
  const own = new AbortController();
  const end = () => own.abort();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.on(name, end);
  const signal = terminal.ended ? AbortSignal.any([own.signal, terminal.ended]) : own.signal;
  return {
    signal,
    end,
    release() {
      for (const name of names) process.off(name, end);
    },
  };
}

const STYLES = { bold: '1', dim: '2', red: '31', yellow: '33', green: '32' } as const;
export type Style = keyof typeof STYLES;
export type Paint = (style: Style, text: Shown | string) => Shown;

/** Colours on a terminal only, and not where NO_COLOR asks for none (https://no-color.org). */
export function paintFor({ stdout, env }: Terminal): Paint {
  const isColoured = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return (style, text) => {
    const plain = shown`${text}`;
    return isColoured ? new Shown(`\x1b[${STYLES[style]}m${plain.text}\x1b[0m`) : plain;
  };
}

/** "7 s", "12 min", "3.5 h", "2 d" */
export function lasting(seconds: number): string {
  if (seconds < 100) return `${Math.floor(seconds)} s`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** "12 s ago", "in 5 min" */
export function fromNow(time: string | null | undefined, now = Date.now()): string {
  if (!time) return '';
  const seconds = (Date.parse(time) - now) / 1000;
  return seconds > 0 ? `in ${lasting(seconds)}` : `${lasting(-seconds)} ago`;
}

/** That of this process. */
export function ownTerminal(env: Env): Terminal {
  const { stdin, stdout, stderr } = process;
  return { stdin, stdout, stderr, env };
}

/** Ends quietly when whoever reads the output has ended, as `head` does. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
}
