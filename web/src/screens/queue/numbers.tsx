import { count, duration, rate } from '../../format.ts';
import { link } from '../../route.ts';
import { type Queue, type QueueOverview, STATES } from '../../types.ts';
import { A, StateName } from '../../ui.tsx';
import { Charts } from '../charts.tsx';

/** How many jobs a queue has, and what happens to them. */
export function Numbers({ queue, live }: { queue: Queue; live: QueueOverview | undefined }) {
  const rates = live?.per_second;
  return (
    <>
      <section class="counts" aria-label="Jobs by state">
        {STATES.map((state) => (
          <A key={state} to={link(['queues', queue.name, 'jobs'], { state })}>
            <StateName state={state} /> <strong>{count(queue.counts[state])}</strong>
          </A>
        ))}
      </section>
      <p class="numbers">
        Oldest ready: <strong>{duration(queue.oldest_ready_age_seconds)}</strong>. Enqueued:{' '}
        <strong>{rate(rates?.enqueued)}/s</strong>. Completed: <strong>{rate(rates?.acked)}/s</strong>.
        Failed: <strong>{rate(rates && rates.nacked + rates.rescued)}/s</strong>. Dead:{' '}
        <strong>{rate(rates?.dead)}/s</strong>. Drains in:{' '}
        <strong>{duration(queue.paused ? null : live?.drain_seconds)}</strong>.{' '}
        {!rates && (
          <span class="quiet">
            No rates yet: they take a few seconds, and only the busiest queues have them.
          </span>
        )}
      </p>
      <Charts name={queue.name} />
    </>
  );
}
