import { remoteCommand } from './remote.ts';
import { type Env, endWithReader, ownTerminal } from './terminal.ts';

/** Runs a command in this process. */
export async function runRemote(name: string, args: string[], env: Env): Promise<void> {
  endWithReader();
  process.exitCode = await remoteCommand(name, args, ownTerminal(env));
}
