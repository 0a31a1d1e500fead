import { readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { toNewJob } from '../routes/http/json/jobBody.ts';
import { completeConfig, configBody } from '../routes/http/json/queueBody.ts';
import { createCaller, SCOPES } from '../src/caller.ts';
import { isOutage, Refusal, StartError } from '../src/errors.ts';
import { RawJson } from '../src/job.ts';
import { LARGEST_BYTES } from '../src/memory.ts';
import type { Engine, Verbs } from '../src/verbs.ts';
import { type Place, planFor } from './apply.ts';
import { keyCommand } from './keyCommand.ts';
import type { Change, KeyNow, Now, QueueNow, ScheduleNow } from './plan.ts';
import { FileError } from './problem.ts';
import { type QueuesFile, readQueuesFile } from './read.ts';
import { MOST_BYTES } from './yaml.ts';

const LIMIT = 1000;
/** What is in a database that is away is tried again. */
const AGAIN_MS = 10_000;

/** All items of a list that is read page by page. */
async function all<T>(
  page: (after: string | undefined) => Promise<{ items: T[]; last: string | undefined }>,
) {
  const found: T[] = [];
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const { items, last } = await page(after);
    found.push(...items);
    after = last;
  }
  return found;
}

async function queuesOf(verbs: Verbs): Promise<Now['queues']> {
  const queues = await all(async (after) => {
    const { queues } = await verbs.listQueues({ limit: LIMIT, after });
    return { items: queues, last: queues.length < LIMIT ? undefined : queues.at(-1)?.name };
  });
  // Nothing is deleted at the start, so nobody asks how many jobs there are.
  return new Map(
    queues.map((queue): [string, QueueNow] => {
      const { name, database } = queue;
      return [name, { config: configBody(queue), database, jobs: 0 }];
    }),
  );
}

async function schedulesOf(verbs: Verbs): Promise<Now['schedules']> {
  const schedules = await all(async (after) => {
    const page = await verbs.listSchedules({ limit: LIMIT, after, max_bytes: LARGEST_BYTES });
    const isLast = page.schedules.length < LIMIT && !page.isCut;
    return { items: page.schedules, last: isLast ? undefined : page.schedules.at(-1)?.name };
  });
  return new Map(
    schedules.map(({ name, cron, timezone, paused, job, payload }): [string, ScheduleNow] => {
      const fields = JSON.parse(job);
      const whole = payload === null ? fields : { ...fields, payload: new RawJson(payload) };
      return [name, { cron, timezone, paused, job: whole }];
    }),
  );
}

async function keysOf(verbs: Verbs): Promise<Now['keys']> {
  const keys = await all(async (after) => {
    const items = await verbs.listKeys({ limit: LIMIT, after });
    return { items, last: items.length < LIMIT ? undefined : items.at(-1)?.id };
  });
  const isEnded = (at: string | null) => at !== null && Date.parse(at) < Date.now();
  return new Map(
    keys
      .filter(({ revoked_at }) => revoked_at === null)
      .map(({ name, scopes, queues, expires_at }): [string, KeyNow] => [
        name,
        { scopes, queues, isEnded: isEnded(expires_at) },
      ]),
  );
}

/** This replica, as the place where a file is applied. It deletes nothing. */
const ownPlace = (verbs: Verbs): Pick<Place, Exclude<keyof Place, 'deleteQueue' | 'deleteSchedule'>> => ({
  queues: () => queuesOf(verbs),
  schedules: () => schedulesOf(verbs),
  keys: () => keysOf(verbs),
  async putQueue(queue, wish) {
    await verbs.configureQueue({ queue, config: completeConfig(wish), database: wish.database });
  },
  async putSchedule(name, { job, ...schedule }) {
    await verbs.putSchedule({ name, spec: { ...schedule, job: toNewJob(job as never) } });
  },
});

/** What may be wrong with a file, and that only a replica knows. @throws FileError */
function checkDatabases({ wish, problem }: QueuesFile, databases: string[]): void {
  const problems = [...(wish.queues ?? [])].flatMap(([name, { database }]) =>
    database === undefined || databases.includes(database)
      ? []
      : [problem('queues', [name, 'database'], `must be the name of a database: ${databases.join(', ')}`)],
  );
  if (problems.length > 0) throw new FileError(problems);
}

/** @throws StartError, in one line */
function read(path: string, databases: string[]): QueuesFile {
  try {
    // A file of any size may be named by mistake.
    if (statSync(path).size > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES} bytes.`);
    const file = readQueuesFile(readFileSync(path));
    checkDatabases(file, databases);
    return file;
  } catch (error) {
    if (error instanceof FileError) {
      const [first = '', ...others] = error.message.split('\n');
      const more = others.length > 0 ? ' `dibs diff` tells the others.' : '';
      throw new StartError(`QUEUES_FILE ${path}, ${first}.${more}`);
    }
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(`QUEUES_FILE ${path} cannot be read: ${code ?? message}`);
  }
}

interface Log {
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}

/** What has become of a change: it is tried again `later`, or it is `refused` for good. */
type Outcome = 'made' | 'later' | 'refused';

/** A queue is being relocated, or a database is away: that ends by itself. */
const passes = (refusal: Refusal) => isOutage(refusal) || refusal.code === 'queue_busy';

const MEND = 'The replica serves without it. Mend that, and run `dibs apply`, or start a replica anew.';

/** Makes one change. The file was checked before, so what is refused now is due to what is in the database. */
async function outcomeOf(
  make: (change: Change) => Promise<boolean>,
  change: Change,
  { file, path, log }: { file: QueuesFile; path: string; log: Log },
): Promise<Outcome> {
  const { kind, name } = change;
  try {
    await make(change);
    return 'made';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const what = `QUEUES_FILE ${path}: ${kind} ${JSON.stringify(name)}`;
    if (passes(error)) {
      log.warn(`${what} is not applied yet, and will be tried again: ${error.message}`);
      return 'later';
    }
    const { line } = file.problem(kind === 'queue' ? 'queues' : 'schedules', [name], '');
    log.error(`${what}, line ${line}, is not applied: ${error.message} ${MEND}`);
    return 'refused';
  }
}

/** A log in which each warning and error is told once. What is tried again meets them again. */
function tellingOnce(log: Log): Log {
  const told = new Set<string>();
  const once = (tell: (line: string) => void) => (line: string) => {
    if (!told.has(line)) tell(line);
    told.add(line);
  };
  return { info: log.info, warn: once(log.warn), error: once(log.error) };
}

interface Surroundings {
  /** The names of the databases of this replica. */
  databases: string[];
  log: Log;
  stop: AbortSignal;
  againMs?: number;
}

/** Reads QUEUES_FILE, which is applied when there is an engine. @throws StartError */
export function openQueuesFile(path: string, surroundings: Surroundings) {
  const { databases, stop, againMs = AGAIN_MS } = surroundings;
  const file = read(path, databases);
  const log = tellingOnce(surroundings.log);

  /** Returns whether something must be tried again. */
  async function apply(verbs: Verbs): Promise<boolean> {
    const place = ownPlace(verbs) as Place;
    const { plan, make } = await planFor(place, file.wish, false);
    const outcomes: Outcome[] = [];
    for (const change of plan.changes) outcomes.push(await outcomeOf(make, change, { file, path, log }));
    const made = outcomes.filter((outcome) => outcome === 'made').length;
    if (made > 0) log.info(`QUEUES_FILE ${path}: ${made} of ${plan.changes.length} differences are applied`);
    for (const key of plan.keys)
      log.warn(`QUEUES_FILE ${path}: an access key differs. Run: ${keyCommand(key)}`);
    for (const { name, database, wished } of plan.elsewhere)
      log.warn(
        `QUEUES_FILE ${path}: queue "${name}" is in the database ${database}, and the file says ${wished}`,
      );
    return outcomes.includes('later');
  }

  async function applyLater(verbs: Verbs): Promise<void> {
    for (let again = true; again; ) {
      await sleep(againMs, undefined, { signal: stop });
      again = await apply(verbs).catch((error) => {
        if (!isOutage(error)) log.warn(`QUEUES_FILE ${path}: ${(error as Error).message}`);
        return isOutage(error);
      });
    }
  }

  return {
    /** What is in a database that is away follows in the background: it holds up no start. */
    async applyTo(engine: Pick<Engine, 'as'>): Promise<void> {
      const caller = createCaller({ id: undefined, name: 'QUEUES_FILE' }, { scopes: SCOPES, queues: ['*'] });
      const verbs = engine.as(caller);
      if (await apply(verbs)) applyLater(verbs).catch(() => undefined);
    },
  };
}
