import type { QueueInFile } from '../routes/schemas/queuesFile.ts';
import { type Change, type Now, type Plan, planOf, type ScheduleNow, scheduleAfter } from './plan.ts';
import type { Wish } from './read.ts';

/** Where a file is applied: a running Dibs, or the replica that starts. */
export interface Place {
  queues(): Promise<Now['queues']>;
  schedules(): Promise<Now['schedules']>;
  keys(): Promise<Now['keys']>;
  /** `database` is for a new queue. */
  putQueue(name: string, queue: QueueInFile): Promise<void>;
  putSchedule(name: string, schedule: ScheduleNow): Promise<void>;
  /** Returns whether it is gone. A queue that has jobs by now stays. */
  deleteQueue(name: string): Promise<boolean>;
  deleteSchedule(name: string): Promise<void>;
}

/** How each change of a plan is made. */
export interface Planned {
  plan: Plan;
  /** Returns whether the change was made. */
  make(change: Change): Promise<boolean>;
}

/** By each dead letter queue, a queue that has it. The PUT of that one creates it, in the same database. */
const sourcesOf = ({ queues = new Map() }: Wish): Map<string | undefined, string> =>
  new Map([...queues].map(([name, { dead_letter_queue }]) => [dead_letter_queue, name]));

/** Where new queues go of which the file says nothing: queues that share dead letters go where one of them is, or is to be. */
function databasesOf({ queues = new Map() }: Wish, now: Now['queues']): Map<string, string | undefined> {
  const beside = new Map<string, Set<string>>();
  const tie = (one: string, other: string) => beside.set(one, (beside.get(one) ?? new Set()).add(other));
  for (const [name, { dead_letter_queue: letters }] of queues) {
    if (letters === undefined) continue;
    tie(name, letters);
    tie(letters, name);
  }
  const found = new Map<string, string | undefined>();
  for (const name of beside.keys()) {
    if (found.has(name)) continue;
    const together = new Set([name]);
    for (const one of together) for (const other of beside.get(one) ?? []) together.add(other);
    const places = [...together].map((one) => now.get(one)?.database ?? queues.get(one)?.database);
    const database = places.find((place) => place !== undefined);
    for (const one of together) found.set(one, database);
  }
  return found;
}

/** Compares what there is with what a file says. Nothing is changed yet. */
export async function planFor(place: Place, wish: Wish, prune: boolean): Promise<Planned> {
  const now: Now = {
    queues: wish.queues ? await place.queues() : new Map(),
    schedules: wish.schedules ? await place.schedules() : new Map(),
    keys: wish.keys ? await place.keys() : new Map(),
  };
  const sources = sourcesOf(wish);
  const databases = databasesOf(wish, now.queues);
  const put = new Set<string>();

  async function putQueue(name: string): Promise<void> {
    if (put.has(name)) return;
    const { database = databases.get(name), ...config }: QueueInFile = wish.queues?.get(name) ?? {};
    await place.putQueue(name, now.queues.has(name) ? config : { ...config, database });
    put.add(name);
  }

  return {
    plan: planOf(wish, now, prune),
    async make({ kind, name, action }) {
      if (action === 'delete' && kind === 'queue') return place.deleteQueue(name);
      if (action === 'delete') await place.deleteSchedule(name);
      else if (kind === 'queue')
        await putQueue(wish.queues?.has(name) ? name : (sources.get(name) as string));
      else {
        const wished = wish.schedules?.get(name) as ScheduleNow;
        await place.putSchedule(name, scheduleAfter(wished, now.schedules.get(name)));
      }
      return true;
    },
  };
}
