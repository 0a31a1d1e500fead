import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { HEALTHY, type Plan, useRelocatingReplicas } from '../support/relocatingReplicas.ts';

const { urls, home, newId, work, endOf, begin, relocate, expectWhole, finish } = useRelocatingReplicas();

/** The ways between which a replica may crash differ, as home is the source, the target or neither. */
const WAYS: [string, string][] = [
  ['a', 'b'],
  ['home', 'a'],
  ['b', 'home'],
];

/** The first way is tried whole. The others share its calls. */
const modesOf = (source: string, at: number): Plan['when'][] =>
  source === 'a' ? ['before', 'after'] : at % 2 === (source === 'home' ? 0 : 1) ? ['after'] : [];

test.each(WAYS)(
  'whenever a replica dies that relocates a queue from %s to %s, another one goes on, and the queue is whole',
  async (source, target) => {
    const { ids, queue_id } = await begin(`sane-${source}`, source, target);
    const { calls, failures } = await work(HEALTHY);
    expect(failures).toEqual([]);
    await expectWhole(`sane-${source}`, queue_id, ids, target);
    for (let at = 1; at < calls; at++) {
      for (const when of modesOf(source, at)) {
        const queue = `crash-${source}-${at}-${when}`;
        const begun = await begin(queue, source, target);
        await work({ at, when });
        await work(HEALTHY);
        expect({ queue, state: await endOf(queue) }).toEqual({ queue, state: 'done' });
        await expectWhole(queue, begun.queue_id, begun.ids, target);
      }
    }
  },
  600_000,
);

test.each(WAYS)(
  'whenever a relocation from %s to %s is stopped, the queue is whole where it was, or where it goes',
  async (source, target) => {
    const { calls } = await (async () => {
      const { ids, queue_id } = await begin(`again-${source}`, source, target);
      const worked = await work(HEALTHY);
      await expectWhole(`again-${source}`, queue_id, ids, target);
      return worked;
    })();
    const states = new Set<string>();
    for (let at = 1; at < calls; at++) {
      if (modesOf(source, at).length === 0) continue;
      const queue = `stop-${source}-${at}`;
      const begun = await begin(queue, source, target);
      await work({ at, when: 'after' });
      await home(
        `update dibs.relocations set is_stopped = true where queue = '${queue}' and phase <> 'ended'`,
      );
      await work(HEALTHY);
      const state = await endOf(queue);
      states.add(state);
      await expectWhole(queue, begun.queue_id, begun.ids, state === 'done' ? target : source);
    }
    expect([...states].sort()).toEqual(['cancelled', 'done']);
  },
  600_000,
);

/** A replica that works on the open relocation and is frozen there. `ended`: it had ended before. */
async function freeze(plan: Plan) {
  let thaw: () => void = () => undefined;
  const thawed = new Promise<void>((resolve) => {
    thaw = resolve;
  });
  const { ended, done, failures } = await work({ ...plan, thawed });
  const late = () => sleep(5000).then(() => 'still at work');
  return {
    ended,
    /** It goes on. Returns what becomes of it. */
    async thaw() {
      thaw();
      return { end: await Promise.race([done.then(() => 'stopped'), late()]), failures };
    },
  };
}

/**
 * A replica is frozen at every so many of its calls. With FROZEN_EVERY=1 at each, and between all databases: that takes 10 minutes,
 * because others wait for what it holds in a transaction.
 */
const FROZEN_EVERY = Number(process.env.FROZEN_EVERY ?? 5);
const FROZEN_WAYS = FROZEN_EVERY === 1 ? WAYS : WAYS.slice(0, 1);

const MEANWHILE = [
  'has ended, and the queue leaves again',
  'has ended',
  'has ended, and the queue came back',
];

test.each(FROZEN_WAYS.flatMap((way) => MEANWHILE.map((meanwhile) => [...way, meanwhile] as const)))(
  'a frozen replica that relocated a queue from %s to %s changes nothing any more when it goes on after that %s',
  async (source, target, meanwhile) => {
    await begin(`thawed-${source}-${MEANWHILE.indexOf(meanwhile)}`, source, target);
    const { calls, copyAt } = await work(HEALTHY);
    for (let at = 1; at < calls; at += FROZEN_EVERY) {
      const queue = `thawed-${source}-${MEANWHILE.indexOf(meanwhile)}-${at}`;
      const { ids, queue_id } = await begin(queue, source, target);
      const frozen = await freeze({ at, when: 'before' });
      expect({ queue, end: await finish(queue) }).toEqual({ queue, end: 'done' });
      if (meanwhile !== 'has ended') {
        await relocate(queue, queue_id, target, source);
        expect({ queue, end: await finish(queue) }).toEqual({ queue, end: 'done' });
      }
      if (meanwhile === MEANWHILE[0]) {
        await relocate(queue, queue_id, source, target);
        await work({ at: copyAt, when: 'before' });
      }
      expect({ queue, ...(await frozen.thaw()) }).toEqual({ queue, end: 'stopped', failures: [] });
      expect({ queue, end: await finish(queue) }).toEqual({ queue, end: 'done' });
      await expectWhole(queue, queue_id, ids, meanwhile === MEANWHILE[2] ? source : target);
    }
  },
  600_000,
);

test.each(FROZEN_WAYS.flatMap((way) => [false, true].map((isStopped) => [...way, isStopped] as const)))(
  'a relocation from %s to %s leaves the queue whole though a replica is frozen within a transaction, stopped meanwhile: %s',
  async (source, target, isStopped) => {
    for (let at = 0, isOver = false; !isOver; at++) {
      const queue = `inside-${source}-${isStopped}-${at}`;
      const { ids, queue_id } = await begin(queue, source, target);
      const frozen = await freeze({ at, when: 'after', isInside: true });
      isOver = frozen.ended;
      const stop = async () => {
        if (isStopped) await home(`update dibs.relocations set is_stopped = true where queue = '${queue}'`);
        return finish(queue);
      };
      const end = stop();
      await Promise.race([end, sleep(400)]);
      expect({ queue, ...(await frozen.thaw()) }).toEqual({ queue, end: 'stopped', failures: [] });
      const state = await end;
      await expectWhole(queue, queue_id, ids, state === 'done' ? target : source);
    }
  },
  600_000,
);

test('a queue leaves a database that still has a note that a copy of it was refused there', async () => {
  const { ids, queue_id } = await begin('noted', 'a', 'b');
  const note = `insert into dibs.relocating_queues (queue_id, relocation, role, attempt) values (${queue_id}, '${newId(0)}', 'refused', 1)`;
  await onServer(urls.a as string, note);
  expect(await finish('noted')).toBe('done');
  await expectWhole('noted', queue_id, ids, 'b');
});
