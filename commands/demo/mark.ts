import { pause } from '../../clients/typescript/src/backoff.ts';
import type { Client } from '../../clients/typescript/src/client.ts';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import {
  deleteQueue,
  deleteSchedule,
  getQueue,
  getSchedule,
  putSchedule,
} from '../../clients/typescript/src/generated.ts';
import { Declined } from '../remote/session.ts';
import { QUEUES, REPORTS, SCHEDULE } from './queues.ts';

/*
 * The demo must take away what it made, and nothing else, also where another process started it and was killed. So it makes its
 * schedule first, with a header that says which run of the demo made it, and deletes it last. While the schedule is there, the queues
 * are the demo's. A run ends when the header is not its own any more: another run goes on in its place, or --stop takes all away.
 */

const HEADER = 'dibs-demo';
const STOPPING = 'stopping';
/** How often a run looks whether it is to end, and how long --stop lets it. */
const LOOK_MS = 500;
const END_MS = 2000;
const LONG = { timeoutSeconds: 600 };

/** Undefined where there is none. */
const ifAny = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error) => {
    if (error instanceof DibsError && error.status === 404) return undefined;
    throw error;
  });

/** The run that made what is there. */
async function runOf(client: Client): Promise<string | undefined> {
  const schedule = await ifAny(getSchedule(client, SCHEDULE));
  if (schedule === undefined) return undefined;
  const run = schedule.job.headers?.[HEADER];
  if (run === undefined)
    throw new Declined(`There is a schedule "${SCHEDULE}" that the demo did not make. Nothing was done.`);
  return run;
}

const put = (client: Client, run: string) =>
  putSchedule(client, SCHEDULE, {
    ...REPORTS,
    paused: run === STOPPING,
    job: { ...REPORTS.job, headers: { [HEADER]: run } },
  });

/** Says that the queues of the demo are this run's. @throws Declined when somebody else has one of that name */
export async function mark(client: Client, run: string): Promise<void> {
  if ((await runOf(client)) === undefined)
    for (const { name } of QUEUES)
      if (await ifAny(getQueue(client, name)))
        throw new Declined(`There is a queue "${name}" that the demo did not make. Nothing was done.`);
  await put(client, run);
}

/** Resolves when what is there is not this run's any more, or the signal fires. Another failure than that passes. */
export async function untilUnmarked(client: Client, run: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = await runOf(client).catch((error) => (error instanceof Declined ? undefined : run));
    if (now !== run) return;
    await pause(LOOK_MS, signal);
  }
}

/** Takes away what the demo made. Returns the names of the queues, or undefined where there was nothing. */
export async function unmark(client: Client): Promise<string[] | undefined> {
  if ((await runOf(client)) === undefined) return undefined;
  await put(client, STOPPING);
  const gone = new Set<string>();
  // A run that is slow to end may have put more jobs in meanwhile.
  for (let isClean = false; !isClean; ) {
    await pause(END_MS);
    isClean = true;
    for (const { name } of QUEUES) {
      if (!(await ifAny(deleteQueue(client, name, { force: true, ...LONG }).then(() => true)))) continue;
      gone.add(name);
      isClean = false;
    }
  }
  await deleteSchedule(client, SCHEDULE);
  return [...gone];
}
