import { causeOf } from './outageLog.ts';
import { nameOf, probe } from './probe.ts';
import type { Server } from './timelines.ts';
import { NoServer } from './wrongServer.ts';

/** Where one host serves, the others have so long to tell of a newer timeline. */
const PATIENCE_MS = 500;

/** The host that served last, and the timeline that it had. */
export interface Served {
  hostUrl: string;
  timeline: number;
}

/**
 * Of servers that fit, by their hosts in order, the primary with the newest timeline. The one that served last comes
 * before an equal one.
 */
function best(found: [string, Server][], last: string | undefined): string | undefined {
  const rank = ([hostUrl, { timeline }]: [string, Server]) => (timeline ?? 0) + (hostUrl === last ? 0.5 : 0);
  // A later host may be of another cluster. Its timelines mean nothing.
  const ofFirst = found.filter(([, { system }]) => system === found[0]?.[1].system);
  return ofFirst.sort((a, b) => rank(b) - rank(a))[0]?.[0];
}

/** Asks all hosts at once which of them serves. @throws NoServer */
export const findHost = (
  hostUrls: string[],
  { assertFits, last }: { assertFits(server: Server): void; last: Served | undefined },
): Promise<string> =>
  new Promise((resolve, reject) => {
    const found = new Map<string, Server>();
    const failed = new Map<string, unknown>();
    let patience: NodeJS.Timeout | undefined;

    function decide(): void {
      clearTimeout(patience);
      const fitting = hostUrls.flatMap((hostUrl): [string, Server][] => {
        const server = found.get(hostUrl);
        return server ? [[hostUrl, server]] : [];
      });
      const chosen = best(fitting, last?.hostUrl);
      const why = hostUrls.map((hostUrl) => `${nameOf(hostUrl)}: ${causeOf(failed.get(hostUrl))}`);
      if (chosen !== undefined) resolve(chosen);
      else
        reject(
          new NoServer(
            hostUrls.map((hostUrl) => failed.get(hostUrl)),
            why.join('; '),
          ),
        );
    }

    async function ask(hostUrl: string): Promise<void> {
      try {
        const server = await probe(hostUrl);
        assertFits(server);
        found.set(hostUrl, server);
        // It was promoted since. But who was never served hears all hosts, as long as it takes.
        if (last !== undefined && (server.timeline ?? 0) > last.timeline) decide();
        else if (last !== undefined) patience ??= setTimeout(decide, PATIENCE_MS);
      } catch (error) {
        failed.set(hostUrl, error);
      }
      if (found.size + failed.size === hostUrls.length) decide();
    }
    for (const hostUrl of hostUrls) void ask(hostUrl);
  });
