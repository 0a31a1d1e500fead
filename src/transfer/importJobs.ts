import type pg from 'pg';
import { StartError } from '../errors.ts';
import { idSource } from '../ids.ts';
import { rowsOf, withOwnClient } from '../postgres/client.ts';
import { isDataError, outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { BEGIN, setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import { isQueueName } from '../verbs/queues.ts';
import type { Progress } from './exportTo.ts';
import { wakeClaims } from './importQueues.ts';
import { noteImport } from './importRun.ts';
import { insertLines, type Numbered } from './insertLines.ts';
import type { SourceJob, SourceReader } from './readSource.ts';

const statements = {
  createQueues: planned('queues/create_all'),
  queues: planned('transfer/source_queues'),
  positions: planned('transfer/reserve_positions'),
  take: planned('transfer/source_take'),
};

const MOST_ATTEMPTS = 1000;
const HEADER_LENGTH = 1024;
const ERROR_LENGTH = 16 * 1024;

export interface Taken {
  jobs: number;
  /** Those that an earlier import had taken. */
  before: number;
}

const newId = idSource(Date.now);

/** The headers that say where a job comes from. What does not fit into a header is left out. */
function headersOf({ source_id, headers }: SourceJob, from: string): string {
  const all = Object.entries({ 'dibs-imported-from': from, 'dibs-imported-id': source_id, ...headers });
  return JSON.stringify(
    Object.fromEntries(all.filter(([, value]) => value && value.length <= HEADER_LENGTH)),
  );
}

/** A job as a line of an export. Its delay may have ended by `now`. Dead jobs are kept from now on. */
function lineOf(job: SourceJob, context: { queueId: number; position: number; now: string; from: string }) {
  const { queueId, position, now, from } = context;
  const { priority, run_at, created_at, last_error, payload } = job;
  const isDead = job.becomes === 'dead';
  const attempt = Math.min(job.attempt, isDead ? MOST_ATTEMPTS : MOST_ATTEMPTS - 1);
  return JSON.stringify({
    kind: 'job',
    queue_id: queueId,
    id: newId(queueId),
    position,
    state: isDead ? 'dead' : Date.parse(run_at) > Date.parse(now) ? 'scheduled' : 'ready',
    priority,
    attempt,
    deliveries: attempt,
    // A job that waits there has an attempt left.
    max_attempts: Math.min(MOST_ATTEMPTS, Math.max(job.max_attempts, attempt + (isDead ? 0 : 1), 1)),
    run_at,
    created_at,
    finished_at: isDead ? now : null,
    last_error: last_error?.slice(0, ERROR_LENGTH) ?? null,
    headers: headersOf(job, from),
    payload,
    is_head: false,
    cancel_requested: false,
  });
}

async function transaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query(BEGIN);
  try {
    await setSession(client);
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Puts jobs of another queue into this database. `queueOf` is the name that a queue has here. */
function createTaking(client: pg.Client, reader: SourceReader, queueOf: (queue: string) => string) {
  const [from = ''] = reader.name.split(' ');
  const route = `dibs import ${reader.name}`;
  let position = 0;
  let before = 0;

  /** Those jobs that no import has taken. In the transaction that notes them as taken. */
  async function takeBatch(jobs: SourceJob[]): Promise<number> {
    const taken = await rowsOf(client, statements.take, {
      route,
      keys: jobs.map(({ source_id }) => source_id),
    });
    if (taken.length === 0) return 0;
    const keys = new Set(taken.map(({ key }) => key));
    const now = taken[0]?.now as string;
    const names = [...new Set(jobs.map(({ queue }) => queueOf(queue)))];
    const ids = new Map(
      (await rowsOf(client, statements.queues, { names })).map(({ id, name }) => [name, id]),
    );
    const lines: Numbered[] = [];
    for (const job of jobs) {
      if (!keys.has(job.source_id)) continue;
      const queueId = ids.get(queueOf(job.queue));
      if (queueId == null)
        throw new StartError(`The queue ${queueOf(job.queue)} was deleted during the import.`);
      lines.push({ number: ++position, text: lineOf(job, { queueId, position, now, from }) });
    }
    const same = new Map([...ids.values()].map((id) => [id as number, id as number]));
    return insertLines(client, 'job', lines, { newIds: false, before, ids: same });
  }

  return {
    async begin(names: string[], jobs: number): Promise<void> {
      await transaction(client, () => rowsOf(client, statements.createQueues, { names }));
      const [reserved] = await rowsOf(client, statements.positions, { positions: jobs });
      before = reserved?.before ?? 0;
    },

    /** Returns how many were put in. A job that the database refuses is named, and all jobs before it are in. */
    async put(jobs: SourceJob[]): Promise<number> {
      const was = position;
      try {
        return await transaction(client, () => takeBatch(jobs));
      } catch (error) {
        if (!isDataError(error)) throw error;
        const [job] = jobs;
        if (jobs.length === 1)
          throw new StartError(
            `Job ${job?.source_id} of queue ${job?.queue} cannot be put in: ${causeOf(error)}.`,
          );
        position = was;
        const half = Math.ceil(jobs.length / 2);
        return (await this.put(jobs.slice(0, half))) + (await this.put(jobs.slice(half)));
      }
    },

    async end(names: string[], jobs: number): Promise<void> {
      await wakeClaims(client, names);
      await noteImport(client, route, jobs);
    },
  };
}

/** The names that queues get here. @throws StartError for one that no queue here can have */
export function namesOf({ counts }: SourceReader, queueOf: (queue: string) => string): string[] {
  const moving = counts.filter(({ becomes }) => becomes !== null).map(({ queue }) => queue);
  const wrong = moving.find((queue) => !isQueueName(queueOf(queue)));
  if (wrong !== undefined)
    throw new StartError(
      `No queue here can be called ${JSON.stringify(queueOf(wrong))}: a name has 1 to 128 of A-Z a-z 0-9 . _ : -. ` +
        `Add --rename ${JSON.stringify(`${wrong}=NAME`)}.`,
    );
  return [...new Set(moving.map(queueOf))].sort();
}

/**
 * Takes the waiting, delayed and dead jobs of another queue. Each transaction notes which jobs it took. So an import that was
 * broken off goes on when it is run again, and takes no job twice.
 */
export function importJobs(
  reader: SourceReader,
  { url, queueOf, progress }: { url: string; queueOf(queue: string): string; progress: Progress },
): Promise<Taken> {
  return withOwnClient(url, { application_name: 'dibs import' }, async (client) => {
    const moving = reader.counts.filter(({ becomes }) => becomes !== null);
    const all = moving.reduce((sum, { jobs }) => sum + jobs, 0);
    const names = namesOf(reader, queueOf);
    if (all === 0) return { jobs: 0, before: 0 };
    await setSession(client);
    const taking = createTaking(client, reader, queueOf);
    await taking.begin(names, all);
    let seen = 0;
    let put = 0;
    for await (const batch of reader.batches()) {
      put += await taking.put(batch);
      seen += batch.length;
      progress(seen, all);
    }
    await taking.end(names, put);
    return { jobs: put, before: seen - put };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
}
