import { useState } from 'preact/hooks';
import { get, query } from '../../api.ts';
import { usePoll } from '../../poll.ts';
import type { QueueOverview, QueuePage } from '../../types.ts';
import { Empty, Loading, Pager, Stale } from '../../ui.tsx';
import { QueueTable } from './table.tsx';

const PAGE = 50;

/** Every queue there is, page by page, as the database has them. */
export function ByName({ contains, known }: { contains: string; known: QueueOverview[] }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const at = cursors.at(-1);
  const { data, problem } = usePoll(
    `queues ${contains} ${at}`,
    async () =>
      (await get<QueuePage>(`queues${query({ limit: PAGE, cursor: at, name_contains: contains })}`)).body,
    5000,
  );
  if (!data) return problem ? <Stale problem={problem} has={false} /> : <Loading />;
  if (data.queues.length === 0) return <Empty>No queue name contains this.</Empty>;
  const shown = data.queues.map((queue): QueueOverview => {
    const live = known.find(({ name }) => name === queue.name);
    return {
      drain_seconds: null,
      counted_age_seconds: null,
      troubles: queue.paused ? ['paused'] : [],
      ...live,
      name: queue.name,
      database: queue.database,
      paused: queue.paused,
      counts: queue.counts,
      oldest_ready_age_seconds: queue.oldest_ready_age_seconds,
    };
  });
  const { next_cursor: next } = data;
  return (
    <>
      <Stale problem={problem} has />
      <QueueTable label="Queues by name" queues={shown} />
      <Pager cursors={cursors} setCursors={setCursors} next={next} />
    </>
  );
}
