import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createOtherDatabase } from './database.ts';
import { openRelay } from './postgres.ts';

/** A database behind an address that can go away and come back. */
export async function reachable() {
  const database = await createOtherDatabase();
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  const behind = new URL(database.url);
  let relay = await openRelay(port, () => Number(behind.port));
  let isThere = true;
  const url = new URL(database.url);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    async leave() {
      if (isThere) await relay.cut();
      isThere = false;
    },
    async comeBack() {
      if (!isThere) relay = await openRelay(port, () => Number(behind.port));
      isThere = true;
    },
    async drop() {
      if (isThere) await relay.cut();
      await database.drop();
    },
  };
}
