import { type ChildProcess, spawn } from 'node:child_process';
import { after, type Timer } from '../clients/typescript/src/timer.ts';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  isTimedOut: boolean;
  /** Its signal told it to end. */
  isTold: boolean;
  stdout: string;
  /** Its end. */
  stderr: string;
}

const MOST_STDERR = 8192;
/** A result of more is refused by Dibs, so more is not kept. */
const MOST_STDOUT = 2 ** 20;
/** How long a command may take to end after SIGTERM. A worker that stops has a second left. */
const KILL_MS = 5000;
const KILL_STOPPING_MS = 700;
/** How long its output is read after its end. A process that it left behind may hold it open for ever. */
const OUTPUT_MS = 300;

/** Those whose groups may have processes. */
const children = new Set<ChildProcess>();

/** Each command has a process group of its own, so that its own children are reached, too. */
function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (child.pid) process.kill(-child.pid, name);
  } catch {
    // It has just ended.
  }
}

export function passOn(name: NodeJS.Signals): void {
  for (const child of children) signalGroup(child, name);
}

export const killAll = (): void => passOn('SIGKILL');

/** Runs a command until it ends. The signal ends it. @throws if it cannot be run */
export function runProgram(
  [program, ...args]: [string, ...string[]],
  {
    input,
    env,
    signal,
    timeoutSeconds,
    isResult,
  }: {
    input: string;
    env: Record<string, string | undefined>;
    signal: AbortSignal;
    timeoutSeconds?: number;
    isResult: boolean;
  },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env,
      detached: true,
      stdio: ['pipe', isResult ? 'pipe' : 'inherit', 'pipe'],
    });
    children.add(child);
    let stderr = '';
    let stdout = '';
    let isTimedOut = false;
    const timers: Timer[] = [];
    const end = (killMs: number) => {
      signalGroup(child, 'SIGTERM');
      timers.push(after(killMs, () => signalGroup(child, 'SIGKILL')));
    };
    const onSignal = () => end(signal.reason?.code === 'stopping' ? KILL_STOPPING_MS : KILL_MS);
    if (timeoutSeconds !== undefined)
      timers.push(
        after(timeoutSeconds * 1000, () => {
          isTimedOut = true;
          end(KILL_MS);
        }),
      );
    const clean = () => {
      signal.removeEventListener('abort', onSignal);
      for (const timer of timers.splice(0)) timer.clear();
    };
    child.once('error', (error) => {
      clean();
      children.delete(child);
      reject(error);
    });
    child.once('exit', (code, endedBy) => {
      clean();
      // What it left behind in its group ends with it, and lets go of its output.
      setTimeout(() => {
        signalGroup(child, 'SIGKILL');
        children.delete(child);
      }, 100).unref();
      const done = () => {
        for (const stream of child.stdio) stream?.destroy();
        if (/[^\n]$/.test(stderr)) process.stderr.write('\n');
        resolve({ code, signal: endedBy, isTimedOut, isTold: signal.aborted, stdout, stderr });
      };
      // What came while this process was busy is read first.
      const late = after(OUTPUT_MS, () => setImmediate(done));
      child.once('close', () => {
        late.clear();
        done();
      });
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      stderr = (stderr + text).slice(-MOST_STDERR);
    });
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < MOST_STDOUT) stdout += text;
    });
    // A command need not read its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    if (signal.aborted) onSignal();
    else signal.addEventListener('abort', onSignal);
  });
}

/** Whose fault it is that a command cannot be run. */
export type Culprit = 'the machine' | 'the job' | 'the command';

/** It may work a little later: the machine is short of something, or the command is being replaced. */
const SHORTAGES = ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'ETXTBSY'];
/** With less of the job in the environment, this is not why it is too large. */
const LITTLE = 1024;

export function culpritOf(
  { code = '' }: NodeJS.ErrnoException,
  environmentOfJob: Record<string, unknown>,
): Culprit {
  if (SHORTAGES.includes(code)) return 'the machine';
  const isLarge = JSON.stringify(environmentOfJob).length > LITTLE;
  return code === 'ERR_INVALID_ARG_VALUE' || (code === 'E2BIG' && isLarge) ? 'the job' : 'the command';
}
