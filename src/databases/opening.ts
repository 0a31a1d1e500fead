import { setTimeout as sleep } from 'node:timers/promises';
import { HOME } from '../config/databases.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import { isOutage } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';
import { gated } from './gated.ts';
import type { Learning } from './learning.ts';
import { outageOf } from './named.ts';
import { checkIn, type Registry } from './registry.ts';

/** A database that does not answer at the start is tried again so often. */
const AGAIN_MS = 1000;

/** A database beside home. */
export interface OtherDatabase {
  name: string;
  db: Database;
  listenUrl: string;
  /** Brings its schema up to date. */
  migrate(): Promise<unknown>;
}

/** The databases beside home, and what home knows of them. */
export interface OtherDatabases {
  registry: Registry;
  list: OtherDatabase[];
}

/** Opens a database as soon as it answers. */
async function untilOpen(open: () => Promise<void>, failed: (error: unknown) => void, stop: AbortSignal) {
  while (!stop.aborted)
    try {
      return await open();
    } catch (error) {
      failed(error);
      await sleep(AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
    }
}

/** How the databases of a replica are opened at its start. One beside home that home knows may be away: it is opened when it is back. */
export function createOpening(options: {
  home: Database;
  registry: Registry;
  /** Puts an engine on a database. */
  add(name: string, db: Database, listenUrl: string): DatabaseEngine;
  learning: Learning;
  log(error: unknown, message: string): void;
  stop: AbortSignal;
}) {
  const { home, registry, add, learning, log, stop } = options;
  const opened: DatabaseEngine[] = [];
  /** Open those that were away. */
  const later: (() => Promise<void>)[] = [];
  let laterOpened: Promise<unknown> | undefined;

  async function open({ name, db, listenUrl, migrate }: OtherDatabase): Promise<void> {
    let isOpen = false;
    const engine = add(
      name,
      gated(name, db, () => isOpen),
      listenUrl,
    );
    const tryOpen = async () => {
      await migrate();
      await checkIn(home, registry, name, db);
      isOpen = true;
    };
    const openLater = async () => {
      await tryOpen();
      await learning.heard(name);
      await engine.begin();
    };
    const failed = (error: unknown) => log(error, `the database "${name}" is not open yet`);
    await tryOpen().then(
      () => opened.push(engine),
      (error) => {
        if (!registry.known.has(name) || !isOutage(error)) return outageOf(name)(error);
        later.push(() => untilOpen(openLater, failed, stop));
      },
    );
  }

  return {
    /** Opens them, and begins their engines, that of home last. @throws StartError */
    async begin(list: OtherDatabase[], engineOfHome: DatabaseEngine): Promise<void> {
      for (const other of list) await open(other);
      // No duty writes before that: home may have queues that live elsewhere by now.
      await learning.heard(HOME);
      for (const engine of [...opened, engineOfHome]) await engine.begin();
      laterOpened = Promise.all(later.map((openOne) => openOne()));
    },

    /** Settles when none is being opened any more. */
    ended: async () => laterOpened,
  };
}
