import type pg from 'pg';
import { groupBy } from '../claim/groupBy.ts';
import { type Connected, type Databases, withClients } from '../databases/clients.ts';
import { StartError } from '../errors.ts';
import { idSource } from '../ids.ts';
import { rowsOf } from '../postgres/client.ts';
import { isDataError, outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { BEGIN, setSession } from '../postgres/session.ts';
import { planned, row } from '../postgres/statements.ts';
import { isQueueName } from '../verbs/queues.ts';
import type { Progress } from './exportTo.ts';
import { placeNew } from './importPlaces.ts';
import { wakeClaims } from './importQueues.ts';
import { noteImport } from './importRun.ts';
import { insertLines, type Numbered } from './insertLines.ts';
import type { SourceJob, SourceReader } from './readSource.ts';

const statements = {
  createQueues: planned('queues/create_all'),
  createNumbered: planned('queues/create_numbered'),
  queues: planned('transfer/source_queues'),
  positions: planned('transfer/reserve_positions'),
  take: planned('transfer/source_take'),
  noted: planned('transfer/source_noted', row<{ key: string }>()),
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

/** Puts jobs of another queue into one of the databases. `queueOf` is the name that a queue has here. */
function createTaking(
  { name: database, client, at }: Connected,
  { route, from, queueOf }: { route: string; from: string; queueOf(queue: string): string },
) {
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
    return insertLines(client, 'job', lines, { before, ids: same, allIds: same });
  }

  /** Returns how many were put in. A job that the database refuses is named, and all jobs before it are in. */
  async function put(jobs: SourceJob[]): Promise<number> {
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
      return (await put(jobs.slice(0, half))) + (await put(jobs.slice(half)));
    }
  }

  return {
    database,

    /** Creates queues, with the numbers that home has given them, if there are several databases. */
    begin: (names: string[], numbers: number[] | undefined, jobs: number): Promise<void> =>
      at(async () => {
        await setSession(client);
        await transaction(client, () =>
          numbers
            ? rowsOf(client, statements.createNumbered, { ids: numbers, names })
            : rowsOf(client, statements.createQueues, { names }),
        );
        const [reserved] = await rowsOf(client, statements.positions, { positions: jobs });
        before = reserved?.before ?? 0;
      }),

    put: (jobs: SourceJob[]): Promise<number> => at(() => put(jobs)),

    /** Those of these jobs that an import has taken into this database. */
    noted: async (jobs: SourceJob[]): Promise<string[]> => {
      const keys = jobs.map(({ source_id }) => source_id);
      return (await at(() => rowsOf(client, statements.noted, { route, keys }))).map(({ key }) => key);
    },

    end: (names: string[]): Promise<void> => at(() => wakeClaims(client, names)),
  };
}

type Taking = ReturnType<typeof createTaking>;

/** The queues that go into a database. */
interface Own {
  taking: Taking;
  names: string[];
  numbers: number[] | undefined;
}

/** Which queues go where. New ones go by the rule of sql/functions/place.sql. */
async function divide(all: [Connected, ...Connected[]], takings: Taking[], names: string[]): Promise<Own[]> {
  if (all.length === 1) return [{ taking: takings[0] as Taking, names, numbers: undefined }];
  const places = await placeNew(all, names);
  return takings.flatMap((taking) => {
    const own = places.filter(({ database }) => database === taking.database);
    const names = own.map(({ name }) => name);
    return own.length === 0 ? [] : { taking, names, numbers: own.map(({ queue_id }) => queue_id) };
  });
}

/** Puts a batch in, each job where its queue is. A queue may have moved since an import took jobs into another database. */
async function putAll(
  jobs: SourceJob[],
  { takings, owns, queueOf }: { takings: Taking[]; owns: Own[]; queueOf(queue: string): string },
): Promise<number> {
  let put = 0;
  for (const [own, theirs] of groupBy(jobs, ({ queue }) =>
    owns.find(({ names }) => names.includes(queueOf(queue))),
  )) {
    const { taking } = own as Own;
    const elsewhere = new Set<string>();
    for (const other of takings)
      if (other !== taking) for (const key of await other.noted(theirs)) elsewhere.add(key);
    const left = theirs.filter(({ source_id }) => !elsewhere.has(source_id));
    if (left.length > 0) put += await taking.put(left);
  }
  return put;
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
  { queueOf, progress, ...databases }: Databases & { queueOf(queue: string): string; progress: Progress },
): Promise<Taken> {
  return withClients(databases, 'dibs import', async (all) => {
    const moving = reader.counts.filter(({ becomes }) => becomes !== null);
    const jobs = moving.reduce((sum, { jobs }) => sum + jobs, 0);
    const names = namesOf(reader, queueOf);
    if (jobs === 0) return { jobs: 0, before: 0 };
    const [from = ''] = reader.name.split(' ');
    const route = `dibs import ${reader.name}`;
    const takings = all.map((one) => createTaking(one, { route, from, queueOf }));
    const owns = await divide(all, takings, names);
    for (const { taking, names, numbers } of owns) await taking.begin(names, numbers, jobs);
    let [seen, put] = [0, 0];
    for await (const batch of reader.batches()) {
      put += await putAll(batch, { takings, owns, queueOf });
      seen += batch.length;
      progress(seen, jobs);
    }
    for (const { taking, names } of owns) await taking.end(names);
    await all[0].at((client) => noteImport(client, route, put));
    return { jobs: put, before: seen - put };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
}
