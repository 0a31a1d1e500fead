import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Ack, JobSignal, Nack, Release, type WorkerJob } from '../../clients/typescript/src/index.ts';
import { itemOf } from '../../clients/typescript/src/outcome.ts';
import { fakeJob } from '../../clients/typescript/src/testing.ts';
import type { Ended } from '../../commands/program.ts';
import { outcomeOf } from '../../commands/work.ts';
import { createBatches } from '../../commands/workBatches.ts';
import { workSettings } from '../../commands/workSettings.ts';

const settings = workSettings(['q', '--result', '--', 'true']);
const ENDED: Ended = { code: 0, signal: null, isTimedOut: false, isTold: false, stdout: '', stderr: '' };

/** Jobs whose signals the test fires, and batches of up to three, one at a time, that end when the test says so. */
function stage() {
  const runs: { jobs: string[]; signal: AbortSignal; end(ended: Ended): void }[] = [];
  const batches = createBatches(
    3,
    1,
    (jobs, signal) => new Promise<Ended>((end) => runs.push({ jobs: jobs.map(({ id }) => id), signal, end })),
  );
  const given = (id: string) => {
    const controller = new AbortController();
    const job = fakeJob(null, { id, signal: controller.signal }) as WorkerJob;
    return { job, fire: () => controller.abort(new JobSignal('cancel_requested')) };
  };
  const begun = async (count: number) => {
    while (runs.length < count) await sleep(5);
    return runs[count - 1] as (typeof runs)[number];
  };
  return { runs, batches, given, begun };
}

describe('a job whose signal fires while its batch waits', () => {
  test('is left out, and ends with the reason of its signal', async () => {
    const { batches, given, begun } = stage();
    const [first, cancelled, other] = [given('first'), given('cancelled'), given('other')];
    const running = batches.add(first.job);
    const one = await begun(1);
    const [ended, more] = [batches.add(cancelled.job), batches.add(other.job)];
    cancelled.fire();
    one.end(ENDED);
    await running;
    await expect(ended).rejects.toBe(cancelled.job.signal.reason);
    const two = await begun(2);
    expect(two.jobs).toEqual(['other']);
    expect(two.signal.aborted).toBe(false);
    two.end(ENDED);
    expect(await more).toBe(ENDED);
  });

  test('leaves nothing to run when it was alone, and its place goes to the next batch', async () => {
    const { runs, batches, given, begun } = stage();
    const [alone, next] = [given('alone'), given('next')];
    const ended = batches.add(alone.job);
    alone.fire();
    await expect(ended).rejects.toBe(alone.job.signal.reason);
    expect(runs).toHaveLength(0);
    const more = batches.add(next.job);
    (await begun(1)).end(ENDED);
    expect(await more).toBe(ENDED);
  });
});

describe('when a command was told to end', () => {
  const told = { ...ENDED, code: null, signal: 'SIGTERM' as const, isTold: true };
  const { signal } = new AbortController();

  test('because of another job of its batch, a job is released', () => {
    expect(() => outcomeOf(told, settings, signal)).toThrow(Release);
  });

  test('because of its own job, that is what the job ends with', () => {
    const reason = new JobSignal('lease_lost');
    expect(() => outcomeOf(told, settings, AbortSignal.abort(reason))).toThrow(reason);
  });

  test('and was done all the same, its jobs are done', () => {
    expect(outcomeOf({ ...told, code: 0, signal: null }, settings, signal)).toBe('');
  });
});

test('a command that fails by itself fails its job', () => {
  const { signal } = new AbortController();
  expect(() => outcomeOf({ ...ENDED, code: 1 }, settings, signal)).toThrow(Nack);
});

test.each<[string, string]>([
  ['{"sum":1.50,"n":12345678901234567890}\n', '{"sum":1.50,"n":12345678901234567890}'],
  ['1.0', '1.0'],
  ['no JSON\n', '"no JSON"'],
])('--result keeps JSON as the command wrote it, and else its text: %j', (stdout, json) => {
  const { signal } = new AbortController();
  const result = outcomeOf({ ...ENDED, stdout }, settings, signal);
  expect(itemOf(new Ack({ result }), 'a', 't')).toBe(`{"id":"a","lease_token":"t","result":${json}}`);
});
