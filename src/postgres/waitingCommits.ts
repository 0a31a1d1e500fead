import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { planned, queryOf } from './statements.ts';

const statements = { waiting: planned('postgres/waiting_commits') };

const ASK_MS = 1000;

async function stillWaiting(pids: number[], options: pg.ClientConfig): Promise<(number | null)[]> {
  const client = new pg.Client(options);
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query(queryOf(statements.waiting, { pids }));
    return rows.map(({ pid }) => pid);
  } finally {
    client.end().catch(() => undefined);
  }
}

/**
 * Commits that were given up, and wait on for a synchronous standby: nobody cancels them, and each holds a connection of
 * the server. At `most` of them no more are begun, or they would take all that the server has.
 */
export function createWaitingCommits(most: number) {
  const pids = new Set<number>();
  let isAsking = false;

  /** A server that does not answer tells nothing of them. */
  async function ask(options: pg.ClientConfig): Promise<void> {
    while (pids.size > 0) {
      const asked = [...pids];
      const waiting: (number | null)[] = await stillWaiting(asked, options).catch(() => []);
      for (const pid of asked) if (!waiting.includes(pid)) pids.delete(pid);
      if (pids.size > 0) await sleep(ASK_MS);
    }
  }

  return {
    isFull: (): boolean => pids.size >= most,

    /** The process of the server may wait for the standby. */
    note(pid: number, options: pg.ClientConfig): void {
      pids.add(pid);
      if (isAsking) return;
      isAsking = true;
      void ask(options).finally(() => {
        isAsking = false;
      });
    },
  };
}
