import { groupBy } from '../claim/groupBy.ts';
import type { Connected } from '../databases/clients.ts';
import type { Receive } from '../relay/receive.ts';
import type { Header, Kind, QueueLine } from './format.ts';
import { checkQueues, type Destinations, destinationsOf, findDeleted, reserveIds } from './importQueues.ts';
import { createRun, type Run } from './importRun.ts';
import type { Numbered } from './insertLines.ts';

/** What makes the room of a database that takes jobs which were on their way. */
export type ReceiveAt = (database: string) => Receive;

const sumOf = (runs: Run[], field: 'jobs' | 'skipped') =>
  runs.reduce((sum, { come }) => sum + (come()[field] ?? 0), 0);

/**
 * One import into all databases of a Dibs. Each notes by itself how far it has come. Access keys and schedules go into home. Home
 * is the last one that is done: then all are.
 */
export function createImport(
  all: [Connected, ...Connected[]],
  header: Header,
  { newIds, receiveAt }: { newIds: boolean; receiveAt: ReceiveAt },
) {
  const run = (one: Connected) => createRun(one, header, () => receiveAt(one.name));
  const [homeOne, ...otherOnes] = all;
  const home = run(homeOne);
  const others = otherOnes.map(run);
  const runs = [...others, home];
  let destinations: Destinations = new Map();
  /** How many lines were in already. */
  let before = 0;

  const runOf = (queueId: number | undefined): Run =>
    queueId === undefined
      ? home
      : (runs.find(({ name }) => name === destinations.get(queueId)?.database) as Run);

  const noteBefore = ({ come }: Run, lines: Numbered[]) => {
    before += lines.filter(({ number }) => number <= come().lines).length;
  };

  return {
    /** Finds out how far an earlier import came. True: it is done. */
    async begin(): Promise<boolean> {
      for (const run of runs) await run.begin();
      const { isDone = false, lines } = home.come();
      if (isDone) before = lines;
      // The header, which nobody puts in.
      else if (lines > 0) before = 1;
      return isDone;
    },

    /** Puts in all queues, paused. @throws StartError before anything is written, when queues are in the way */
    async putQueues(queues: QueueLine[], lines: Numbered[]): Promise<void> {
      if (home.come().lines > 0 && (await findDeleted(all, queues)).length === queues.length) {
        for (const run of runs) await run.beginAnew();
        before = 0;
      }
      const isRepeated = home.come().lines > 0;
      if (!isRepeated) await checkQueues(all, queues, newIds);
      if (!newIds) await reserveIds(all, queues);
      destinations = await destinationsOf(all, queues, { newIds, isRepeated });
      const last = lines.at(-1)?.number as number;
      const allIds = new Map([...destinations].map(([from, { id }]) => [from, id]));
      // Home comes last. Before that, nobody has any job.
      for (const run of runs) {
        const isOwn = (id: number) => destinations.get(id)?.database === run.name;
        const own = queues.filter(({ id }) => isOwn(id));
        const ids = new Map(own.map(({ id }) => [id, destinations.get(id)?.id as number]));
        const ownLines = lines.filter((_, i) => isOwn(queues[i]?.id as number));
        noteBefore(run, ownLines);
        if (own.length > 0 || run === home) await run.putQueues(own, { ids, allIds }, ownLines, last);
      }
    },

    /** Puts in lines of one kind, each where it belongs. */
    async put(kind: Kind, lines: Numbered[]): Promise<void> {
      for (const [run, own] of groupBy(lines, ({ queueId }) => runOf(queueId))) {
        noteBefore(run, own);
        await run.put(kind, own, own.at(-1)?.number as number);
      }
    },

    /** Lets claims have the jobs, and notes the import in the audit of home. */
    async finish(line: number): Promise<void> {
      for (const run of others) await run.finish(line);
      await home.finish(line, sumOf(runs, 'jobs'));
    },

    counts: () => ({ jobs: sumOf(runs, 'jobs'), skipped: sumOf(runs, 'skipped'), before }),
  };
}
