import { setTimeout as sleep } from 'node:timers/promises';
import { nothingIsHeld } from '../ledger.ts';
import { http, type Replica, startReplica } from '../replica.ts';
import type { Random } from './random.ts';
import type { Record } from './record.ts';

export type Answer = Awaited<ReturnType<typeof http>>;

/** The names in a path, which differ from call to call. */
const NAMES = /(?<=jobs|queues|groups|batches)\/(?!batch|claim|settle)[^/?]+|\?.*/g;

/**
 * Replicas that can be killed and replaced, and calls to any of them. With `oldFolder`, all but one are of the older Dibs
 * that was built there. The newer one migrates the database beside them, and each replica is replaced by a newer one.
 */
export async function createCluster(databaseUrl: string, size: number, record: Record, oldFolder?: string) {
  const start = (folder?: string) =>
    startReplica({ DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE: '5' }, folder);
  const replicas = await Promise.all(Array.from({ length: size - 1 }, () => start(oldFolder)));
  replicas.push(await start());
  const lines: string[] = [];
  let stops = 0;

  return {
    /** The warnings and errors that all replicas logged, also those that have ended. */
    complaints: () =>
      [...lines, ...replicas.flatMap((replica) => replica.lines)].filter(
        (line) => !/"level":[123]0/.test(line),
      ),

    /** How many replicas were asked to stop. A replica that stops answers waiting requests early. */
    stops: () => stops,

    /** Ends a replica, mostly like a crash, sometimes like an operator. Starts another one a little later. */
    async replaceOne(random: Random): Promise<void> {
      const at = random.integer(0, replicas.length - 1);
      const [ended] = replicas.splice(at, 1) as [Replica];
      const signal = random.chance(0.75) ? 'SIGKILL' : 'SIGTERM';
      if (signal === 'SIGTERM') stops++;
      record.count(`replicas ended by ${signal}`);
      await ended.end(signal);
      lines.push(...ended.lines);
      await sleep(random.between(0, 1500));
      replicas.push(await start());
    },

    /** A request to a replica. Undefined without an answer, and for one that leaves the outcome open. */
    async call(
      random: Random,
      method: string,
      path: string,
      body?: unknown,
      {
        abortAfterMs,
        expected = [],
        headers,
      }: { abortAfterMs?: number; expected?: number[]; headers?: { [name: string]: string } } = {},
    ): Promise<Answer | undefined> {
      const answer = await http(random.oneOf(replicas).url, method, path, body, {
        signal: abortAfterMs === undefined ? undefined : AbortSignal.timeout(abortAfterMs),
        headers,
      }).catch(() => undefined);
      const outcome = answer ? String(answer.status) : 'no answer';
      record.count(`${method} ${path.replace(NAMES, '/*')}: ${outcome}`);
      if (!answer || answer.status === 503) return undefined;
      if (answer.status >= 300 && !expected.includes(answer.status))
        record.problems.push(`${method} ${path} answered ${answer.status}: ${answer.text}`);
      return answer;
    },

    /** The address of one of the replicas. */
    url: (random: Random): string => random.oneOf(replicas).url,

    /** What replicas still hold for requests, though none is under way any more. Older ones do not tell. */
    async stillHeld(): Promise<string[]> {
      const scrape = async ({ url }: Replica) => (await fetch(`${url}/metrics`)).text();
      const found = replicas.map(async (replica) => {
        if ((await scrape(replica)).includes('dibs_held{')) await nothingIsHeld(() => scrape(replica));
      });
      const results = await Promise.allSettled(found);
      return results.flatMap((result) => (result.status === 'rejected' ? String(result.reason) : []));
    },

    end: () => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))),
  };
}

export type Cluster = Awaited<ReturnType<typeof createCluster>>;
