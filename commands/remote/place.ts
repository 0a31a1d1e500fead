import { type Caller, RawJson } from '../../clients/typescript/src/caller.ts';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import {
  type AccessKey,
  configureQueue,
  deleteQueue,
  deleteSchedule,
  listKeys,
  listQueues,
  listSchedules,
  putSchedule,
  type ScheduleSpec,
} from '../../clients/typescript/src/generated.ts';
import type { Place } from '../../queuesFile/apply.ts';
import type { KeyNow, ScheduleNow } from '../../queuesFile/plan.ts';
import { RawJson as Payload } from '../../src/job.ts';
import { elements, members, objectOf } from './jsonText.ts';
import { checkPage } from './pages.ts';
import type { Answer, Session } from './session.ts';

/** A page of each list is as large as it can be. */
const limit = 1000;

interface Page {
  next_cursor: string | null;
  away?: string[];
}

/** All pages of a list. @throws DibsError while a database is away: what is in it cannot be compared */
async function pagesOf<P extends Page>(
  session: Session,
  read: (caller: Caller, page: { limit: number; cursor?: string }) => Promise<P>,
): Promise<Answer<P>[]> {
  const pages: Answer<P>[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await session.ask((caller) => read(caller, { limit, cursor }));
    checkPage(page.value);
    const { away = [], next_cursor } = page.value;
    if (away.length > 0) {
      const detail = `What is in ${away.join(', ')} cannot be compared: away. Nothing was done.`;
      throw new DibsError({ type: 'about:blank', title: 'Away', status: 503, code: 'unavailable', detail });
    }
    pages.push(page);
    cursor = next_cursor ?? undefined;
  }
  return pages;
}

/** A schedule of an answer, with the payload of its job as it was sent. */
function scheduleIn(text: string): [string, ScheduleNow] {
  const { name, cron, timezone, paused, job } = JSON.parse(text);
  const payload = members(members(text)?.get('job') ?? '{}')?.get('payload');
  return [
    name,
    { cron, timezone, paused, job: payload === undefined ? job : { ...job, payload: new Payload(payload) } },
  ];
}

/** What `PUT /schedules/{name}` takes. */
function scheduleBody({ job, ...schedule }: ScheduleNow): ScheduleSpec {
  const { payload, ...fields } = job as { payload?: Payload };
  const texts = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    JSON.stringify(value),
  ]);
  if (payload !== undefined) texts.push(['payload', payload.text]);
  const parts = Object.entries(schedule).map(([name, value]): [string, string] => [
    name,
    JSON.stringify(value),
  ]);
  return new RawJson(objectOf([...parts, ['job', objectOf(texts)]])) as unknown as ScheduleSpec;
}

const keyNow = ({ scopes, queues, expires_at }: AccessKey): KeyNow => ({
  scopes,
  queues,
  isEnded: expires_at !== null && Date.parse(expires_at) < Date.now(),
});

/** A running Dibs, as the place where a file is applied. */
export const remotePlace = (session: Session): Place => ({
  async queues() {
    const pages = await pagesOf(session, listQueues);
    const all = pages.flatMap(({ value }) => value.queues);
    return new Map(
      all.map(({ name, config, database, counts }) => {
        const jobs = Object.values(counts).reduce((sum, more) => sum + more, 0);
        return [name, { config, database, jobs }];
      }),
    );
  },
  async schedules() {
    const pages = await pagesOf(session, listSchedules);
    return new Map(
      pages.flatMap(({ text }) => elements(members(text)?.get('schedules') ?? '[]').map(scheduleIn)),
    );
  },
  async keys() {
    const pages = await pagesOf(session, listKeys);
    const valid = pages.flatMap(({ value }) => value.keys).filter(({ revoked_at }) => revoked_at === null);
    return new Map(valid.map((key) => [key.name, keyNow(key)]));
  },
  async putQueue(name, queue) {
    await session.ask((caller) => configureQueue(caller, name, queue));
  },
  async putSchedule(name, schedule) {
    await session.ask((caller) => putSchedule(caller, name, scheduleBody(schedule)));
  },
  async deleteQueue(name) {
    try {
      await session.ask((caller) => deleteQueue(caller, name));
      return true;
    } catch (error) {
      if (error instanceof DibsError && error.code === 'queue_not_empty') return false;
      throw error;
    }
  },
  async deleteSchedule(name) {
    await session.ask((caller) => deleteSchedule(caller, name));
  },
});
