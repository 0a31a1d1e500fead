import { once } from 'node:events';
import { shown } from '../shown.ts';
import { type Cli, examples, STATUS } from './cli.ts';
import type { Session } from './session.ts';
import { untilEnded } from './terminal.ts';

async function mcp(session: Session, { allowWrites = false }: { allowWrites?: boolean }): Promise<number> {
  const { stdin } = session.terminal;
  if (stdin.isTTY)
    session.say(
      shown`dibs: this speaks the Model Context Protocol on standard input. An assistant starts it: docs/mcp.md.`,
    );
  // The SDK is loaded here only: no other command pays for it.
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const { createServer } = await import('../mcp/server.ts');
  const { signal, release } = untilEnded(session.terminal);
  const handle = serveStdio(() => createServer(session.client, { allowWrites }), {
    onerror: (error) => session.say(shown`dibs: ${error.message}`),
  });
  try {
    await once(stdin, 'end', { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    release();
    await handle.close();
  }
  return STATUS.done;
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('mcp')
      .summary('let an assistant look at queues and jobs (Model Context Protocol)')
      .description(
        'Serves the Model Context Protocol on standard input and output, until that ends. An assistant starts it: see docs/mcp.md. ' +
          'Its tools only look, unless --allow-writes. They can do what the access key may do, and no more.',
      )
      .option('--allow-writes', 'also give it tools that change jobs and queues')
      .action(act(mcp)),
    'dibs mcp --context prod',
    'dibs mcp --context prod --allow-writes',
  );
}
