import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** A look at all of them takes longer than a replica is awake. */
const GROUPS = 60_000;
const AWAKE_MS = 2000;

let service: Service;
beforeAll(async () => {
  service = await startService({ restTimes: { awakeMs: AWAKE_MS } });
  await onServer(
    service.databaseUrl,
    `with made as (insert into dibs.queues (name) values ('crowd') returning id)
     insert into dibs.jobs
       (queue_id, id, state, is_head, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
     select id, gen_random_uuid(), (case when nth = 0 then 'ready' else 'blocked' end)::dibs.job_state, nth = 0, now(),
       5, 1, 0, '{}', '1', 'g' || n
     from made cross join generate_series(1, ${GROUPS}) n cross join generate_series(0, 1) nth`,
  );
});
afterAll(() => service.stop());

/** As a replica leaves them that is killed before it has advanced these groups. */
const loseHeads = () =>
  onServer(
    service.databaseUrl,
    `update dibs.jobs set state = 'dead', is_head = false, finished_at = now()
     where state = 'ready' and substr(group_key, 2)::integer % 5000 = 0`,
  );
const heads = async () => {
  const [row] = await onServer<{ count: number }>(
    service.databaseUrl,
    `select count(*)::integer as count from dibs.jobs where group_key is not null and dibs.by_index(is_head)`,
  );
  return row?.count;
};

test('heads that a killed replica lost are found among very many groups, though nothing happens any more', async () => {
  await service.call('POST', '/jobs', { queue: 'other' });
  await sleep(AWAKE_MS / 2);
  await loseHeads();
  await until(async () => (await heads()) === GROUPS);
});
