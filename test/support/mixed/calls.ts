import { setTimeout as sleep } from 'node:timers/promises';
import { http, type Replica, startReplica } from '../replica.ts';
import type { Random } from './random.ts';
import type { Record } from './record.ts';

export type Answer = Awaited<ReturnType<typeof http>>;

/** What differs from call to call in a path. */
const NAMES = /(?<=jobs|queues)\/(?!batch|claim|settle)[^/?]+|\?.*/g;

/** Replicas that are killed and started again, and calls to any of those that run. */
export async function createCluster(databaseUrl: string, size: number, record: Record) {
  const start = () => startReplica({ DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE: '5' });
  const replicas = await Promise.all(Array.from({ length: size }, start));
  const lines: string[] = [];
  let stops = 0;

  return {
    /** What the replicas, ended or not, logged as odd. */
    complaints: () =>
      [...lines, ...replicas.flatMap((replica) => replica.lines)].filter(
        (line) => !/"level":[123]0/.test(line),
      ),

    /** How often one was asked to stop, which then lets nobody wait. */
    stops: () => stops,

    /** Ends one of them as a crash does, or now and then as an operator does, and starts another one a little later. */
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

    /** A request to a replica; undefined when no answer came, or one that leaves open what happened. */
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

    end: () => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))),
  };
}

export type Cluster = Awaited<ReturnType<typeof createCluster>>;
