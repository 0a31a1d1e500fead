import { expect } from 'vitest';
import { promise } from '../promises.ts';

const GROUP = 'What is told';

promise(
  GROUP,
  'a failure leaves a line: the job, its queue, the attempt, the error, and what comes next',
  async (stage) => {
    const id = await stage.enqueue({ fail: 'no such customer' }, { max_attempts: 2 });
    stage.start();
    await stage.reaches(id, 'dead');
    const [first = '', second = '', ...more] = await stage.logged(id, 2);
    for (const [i, line] of [first, second].entries()) {
      expect(line).toContain(stage.queue);
      expect(line).toContain('no such customer');
      expect(line).toMatch(new RegExp(`attempt\\W+${i + 1}\\b`));
    }
    expect(first).toMatch(/is tried again after its backoff/);
    expect(second).toMatch(/is dead/);
    expect(more).toEqual([]);
  },
);

promise(GROUP, 'a job that is given up at once is told as dead', async (stage) => {
  const id = await stage.enqueue({ fail: 'it will never work', dead: true });
  stage.start();
  const [line] = await stage.logged(id, 1);
  expect(line).toMatch(/is dead/);
});

promise(
  GROUP,
  'a failure with a delay of its own is told with it',
  async (stage) => {
    const id = await stage.enqueue({ fail: 'the shop is closed', delay_seconds: 600 });
    stage.start();
    const [line] = await stage.logged(id, 1);
    expect(line).toMatch(/is tried again in (600|10m)/);
  },
  { needs: ['delays'] },
);

promise(GROUP, 'a result that cannot be taken is told', async (stage) => {
  const id = await stage.enqueue({ large_result: 100_000 });
  stage.start();
  await stage.reaches(id, 'dead');
  const lines = await stage.logged(id, 2);
  expect(lines.join('\n')).toMatch(/ack.*was refused/);
  expect(lines.at(-1)).toMatch(/is dead/);
});

promise(GROUP, 'a Dibs that refuses for a while is told', async (stage) => {
  const detail = `There is no database for ${stage.queue}.`;
  const problem = { type: 'urn:problem-type:dibs:unavailable', code: 'unavailable', status: 503, detail };
  stage.proxy.harm(() => ({ status: 503, text: JSON.stringify(problem) }));
  stage.start();
  expect((await stage.logged(detail, 1))[0]).toMatch(/the claim failed, and is tried again/);
});

promise(GROUP, 'jobs that end well, are released or cancelled leave no line', async (stage) => {
  const well = await stage.enqueueAll([{}, { result: 1 }]);
  const released = await stage.enqueue({ release: true, delay_seconds: 100 });
  const worker = stage.start({ lease_seconds: 1.5 });
  await stage.reachAll(well, 'completed');
  await stage.reaches(released, 'scheduled');
  const cancelled = await stage.enqueue({ ms: 60_000 });
  await worker.seen('started', cancelled);
  await stage.call('DELETE', `/jobs/${cancelled}`);
  await stage.reaches(cancelled, 'cancelled');
  for (const id of [...well, released, cancelled])
    expect(stage.driver.lines.filter((line) => line.includes(id))).toEqual([]);
});

promise(GROUP, 'no line has a payload, a header or the key in it', async (stage) => {
  const headers = { tenant: 'topsecret-header' };
  const fails = await stage.enqueue(
    { fail: 'boom', note: 'topsecret-payload' },
    { headers, max_attempts: 1 },
  );
  const odd = await stage.enqueue({ large_result: 100_000, note: 'topsecret-payload' }, { headers });
  stage.start({ key: 'topsecret-key' });
  await stage.reachAll([fails, odd], 'dead');
  await stage.logged(fails, 1);
  await stage.logged(odd, 1);
  expect(stage.driver.lines.filter((line) => line.includes('topsecret'))).toEqual([]);
});

promise(
  GROUP,
  'a payload that cannot be decoded is told, and not shown',
  async (stage) => {
    const id = await stage.enqueue({ undecodable: true, note: 'topsecret-payload' }, { max_attempts: 1 });
    stage.start();
    await stage.reaches(id, 'dead');
    const [line] = await stage.logged(id, 1);
    expect(line).toMatch(/payload cannot be decoded/);
    expect(stage.driver.lines.filter((line) => line.includes('topsecret'))).toEqual([]);
  },
  { needs: ['decode'] },
);

promise(GROUP, 'an error of many lines, or of a megabyte, is one short line', async (stage) => {
  const many = await stage.enqueue({ fail: `first\nsecond\u001b[31m\nthe last` }, { max_attempts: 1 });
  const large = await stage.enqueue({ fail: 'x'.repeat(1_000_000) }, { max_attempts: 1 });
  stage.start();
  await stage.reachAll([many, large], 'dead');
  const [line = ''] = await stage.logged(many, 1);
  expect(line).toMatch(/first.*second.*the last/);
  expect(line).not.toContain('\u001b');
  expect((await stage.logged(large, 1))[0]?.length).toBeLessThan(2000);
});
