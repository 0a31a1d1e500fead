import { PassThrough, Readable } from 'node:stream';
import { remoteCommand } from '../../commands/remote/remote.ts';
import type { Env } from '../../commands/remote/terminal.ts';

export interface Ran {
  status: number;
  stdout: string;
  stderr: string;
}

export interface Given {
  stdin?: string;
  /** Somebody sits at a terminal, and types this. */
  types?: string;
  columns?: number;
  env?: Env;
  /** Ends a command that goes on. */
  ended?: AbortSignal;
  /** Sees what is printed, as it comes. */
  onOutput?(text: string): void;
}

/** Runs commands that talk to the Dibs at `url`, in this process. */
export function cliAt(url: string, env: Env = {}) {
  return async (args: string[], given: Given = {}): Promise<Ran> => {
    const isTTY = given.types !== undefined || given.columns !== undefined;
    let stdout = '';
    let stderr = '';
    const print = (text: string) => {
      stdout += text;
      given.onOutput?.(stdout);
    };
    const stdin: NodeJS.ReadableStream & { isTTY?: boolean } =
      given.types === undefined && given.columns !== undefined
        ? new PassThrough()
        : Readable.from([given.types ?? given.stdin ?? '']);
    stdin.isTTY = isTTY;
    const [name = '', ...rest] = args;
    const status = await remoteCommand(name, rest, {
      stdin,
      stdout: { write: print, isTTY, columns: given.columns },
      stderr: { write: (text) => (stderr += text), isTTY },
      env: { DIBS_URL: url, ...env, ...given.env },
      ended: given.ended,
    });
    return { status, stdout, stderr };
  };
}
