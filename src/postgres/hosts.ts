import type pg from 'pg';
import { hostUrlsOf, type Target, targetOf } from '../config/databaseHosts.ts';
import { findHost, type Served } from './findHost.ts';
import { nameOf, probe, serverOf } from './probe.ts';
import { holdOpen, newestTimeline, noteTimeline, type Server } from './timelines.ts';
import { WrongServer } from './wrongServer.ts';

/*
 * Which host of a URL Dibs connects to (docs/decisions/0087-several-hosts.md). One host is used as it is, and nothing is
 * asked of its server.
 */

/** While a replica works, it looks so often whether another host has a newer timeline. */
const LOOK_MS = 10_000;

/** @throws WrongServer for one that is not to be used. `system` is the cluster that was used before. */
function assertFits(server: Server, target: Target, system: string | undefined): void {
  if (system !== undefined && server.system !== system)
    throw new WrongServer('it has the data of another cluster than before. If that is meant, restart Dibs');
  noteTimeline(server);
  const newest = newestTimeline(server.system) ?? 0;
  if (server.timeline !== null && server.timeline < newest)
    throw new WrongServer(`it is at timeline ${server.timeline}, but timeline ${newest} was seen`);
  if (target !== 'any' && server.timeline === null) throw new WrongServer('it is a standby');
  if (target === 'read-write' && server.isReadOnly) throw new WrongServer('it is read-only');
}

/** The hosts of a URL, and which of them serves. */
function createHosts(url: string) {
  const target = targetOf(url);
  const hostUrls = [...new Set(hostUrlsOf(url))];
  const isSeveral = hostUrls.length > 1;
  /** The one that served last. All are asked when there is none, or when it is distrusted. */
  let trusted: string | undefined = isSeveral ? undefined : hostUrls[0];
  let last: Served | undefined;
  let system: string | undefined;
  let finding: Promise<string> | undefined;

  const assertFitsHere = (server: Server) => assertFits(server, target, system);

  async function find(): Promise<string> {
    try {
      trusted = await findHost(hostUrls, { assertFits: assertFitsHere, last });
      return trusted;
    } finally {
      finding = undefined;
    }
  }

  return {
    /** Whether a connection is checked before it is used. */
    isChecked: target !== 'any' || isSeveral,

    /** The URL of the host to connect to. @throws NoServer */
    async choose(): Promise<string> {
      if (trusted !== undefined) return trusted;
      finding ??= find();
      return finding;
    },

    /** Whether a new connection to this host may be used. @throws WrongServer when it may not */
    async check(client: pg.Client, hostUrl: string): Promise<void> {
      const server = await serverOf(client);
      try {
        assertFitsHere(server);
      } catch (error) {
        throw new WrongServer(`${nameOf(hostUrl)}: ${(error as Error).message}`);
      }
      system ??= server.system;
      last = { hostUrl, timeline: server.timeline ?? 0 };
      holdOpen(client, server);
    },

    /** This host, or the one that is trusted, did not serve. */
    distrust(hostUrl = trusted): void {
      if (isSeveral && hostUrl === trusted) trusted = undefined;
    },

    /** While `isUsed`, looks now and then whether another host has a newer timeline. Returns what ends that. */
    watch(isUsed: () => boolean): () => void {
      const look = (hostUrl: string) =>
        probe(hostUrl)
          .then(assertFitsHere)
          .catch(() => undefined);
      const timer = setInterval(() => {
        if (isUsed()) for (const hostUrl of hostUrls) if (hostUrl !== trusted) void look(hostUrl);
      }, LOOK_MS).unref();
      return () => clearInterval(timer);
    },
  };
}

export type Hosts = ReturnType<typeof createHosts>;

const known = new Map<string, Hosts>();

/** What this process knows of the hosts of a URL. */
export function hostsOf(url: string): Hosts {
  const hosts = known.get(url) ?? createHosts(url);
  known.set(url, hosts);
  return hosts;
}
