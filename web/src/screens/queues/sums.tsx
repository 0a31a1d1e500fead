import { count, duration, rate } from '../../format.ts';
import type { Overview } from '../../types.ts';
import { failures } from './failures.ts';

const Sum = ({
  title,
  value,
  says,
  isGrave,
}: {
  title: string;
  value: string;
  says?: string;
  isGrave?: boolean;
}) => (
  <div class={isGrave ? 'sum grave' : 'sum'}>
    <span class="title">{title}</span>
    <span class="value">{value}</span>
    {says && <span class="quiet">{says}</span>}
  </div>
);

export function Sums({ overview }: { overview: Overview }) {
  const { counts, per_second: rates, troubled, total } = overview;
  return (
    <section class="sums" aria-label="All queues together">
      <Sum
        title="Queues with trouble"
        value={count(troubled)}
        says={`of ${count(total)}`}
        isGrave={overview.queues[0]?.troubles.length !== undefined && troubled > 0}
      />
      <Sum title="Ready" value={count(counts.ready)} says={`${count(counts.scheduled)} scheduled`} />
      <Sum title="Leased" value={count(counts.leased)} says={`${count(counts.blocked)} blocked`} />
      <Sum title="Oldest ready" value={duration(overview.oldest_ready_age_seconds)} />
      <Sum title="Enqueued" value={`${rate(rates.enqueued)}/s`} />
      <Sum title="Completed" value={`${rate(rates.acked)}/s`} says={`${rate(failures(rates))}/s failed`} />
      <Sum
        title="Drains in"
        value={duration(overview.drain_seconds)}
        says={overview.drain_seconds === null ? 'backlog not shrinking' : ''}
      />
      <Sum title="Dead" value={count(counts.dead)} says={`${rate(rates.dead)}/s`} />
    </section>
  );
}
