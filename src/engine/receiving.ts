import { openDatabase } from '../postgres/pool.ts';
import type { Receive } from '../relay/receive.ts';
import { createBase } from './base.ts';
import { createRooms } from './rooms.ts';

const CONNECTIONS = 4;

/** What takes jobs into a database that were on their way there, without a replica. */
export function openReceiving(url: string): { receive: Receive; close(): Promise<void> } {
  const db = openDatabase(url, CONNECTIONS);
  const base = createBase({ db, listenUrl: url, log: () => undefined });
  const { receive } = createRooms(base, { operationStarted: () => undefined });
  return {
    receive,
    async close() {
      await base.notifier.stop();
      await db.close();
    },
  };
}
