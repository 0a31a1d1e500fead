import { expect } from 'vitest';
import { promise } from '../promises.ts';

const GROUP = 'How a handler ends';

promise(GROUP, 'whatever a handler ends with is a result, and its place is free', async (stage) => {
  const names = await stage.driver.oddEnds();
  expect(names.length).toBeGreaterThanOrEqual(3);
  const ids: string[] = [];
  for (const odd of names) ids.push(await stage.enqueue({ odd }, { max_attempts: 1 }));
  const last = await stage.enqueue();
  const worker = stage.start();
  await stage.reaches(last, 'completed');
  for (const [i, id] of ids.entries()) {
    const job = await stage.reaches(id, 'dead');
    expect(job, names[i]).toMatchObject({ attempt: 1, deliveries: 1 });
    expect(job.last_error, names[i]).toMatch(/\S/);
    expect(stage.starts(id), names[i]).toBe(1);
  }
  expect(worker.isOver).toBe(false);
});

promise(GROUP, 'odd ends leave the other jobs of the worker alone', async (stage) => {
  const names = await stage.driver.oddEnds();
  const other = await stage.enqueue({ ms: 4000, result: 'whole' });
  const ids: string[] = [];
  for (const odd of names) ids.push(await stage.enqueue({ odd }, { max_attempts: 1 }));
  const worker = stage.start({ concurrency: 3 });
  await stage.reachAll(ids, 'dead');
  expect((await stage.reaches(other, 'completed')).result).toBe('whole');
  expect(stage.starts(other)).toBe(1);
  await worker.stop();
});

promise(
  GROUP,
  'an error tells its causes in its first line, from the outside in',
  async (stage) => {
    const causes = ['fetch failed', 'connect ECONNREFUSED 127.0.0.1:1'];
    const id = await stage.enqueue({ fail: 'could not load the order', causes }, { max_attempts: 1 });
    stage.start();
    const [line] = (await stage.reaches(id, 'dead')).last_error.split('\n');
    expect(line).toMatch(/could not load the order: .*fetch failed: .*connect ECONNREFUSED 127\.0\.0\.1:1/);
  },
  { needs: ['causes'] },
);

promise(
  GROUP,
  'causes that go in a circle end',
  async (stage) => {
    const id = await stage.enqueue(
      { fail: 'one', causes: ['two', 'three'], circle: true },
      { max_attempts: 1 },
    );
    stage.start();
    const [line] = (await stage.reaches(id, 'dead')).last_error.split('\n');
    expect(line).toMatch(/one: .*two: .*three/);
    expect(line.match(/two/g)).toHaveLength(1);
  },
  { needs: ['causes'] },
);

promise(
  GROUP,
  'a thousand causes, and causes of a megabyte, are told in part',
  async (stage) => {
    const many = await stage.enqueue(
      { fail: 'the top', causes: Array.from({ length: 1000 }, (_, i) => `cause ${i};`) },
      { max_attempts: 1 },
    );
    const large = await stage.enqueue(
      { fail: 'the top', causes: ['x'.repeat(300_000), 'the root', 'y'.repeat(300_000)] },
      { max_attempts: 1 },
    );
    stage.start();
    const [line] = (await stage.reaches(many, 'dead')).last_error.split('\n');
    expect(line).toContain('cause 7;');
    expect(line).not.toContain('cause 8;');
    const { last_error } = await stage.reaches(large, 'dead');
    expect(last_error).toContain('the top');
    expect(last_error).toContain('the root');
    expect(last_error.length).toBeLessThanOrEqual(16_384);
  },
  { needs: ['causes'] },
);
