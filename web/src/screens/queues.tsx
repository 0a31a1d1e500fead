import { may, type Problem } from '../api.ts';
import { compact, count } from '../format.ts';
import { link } from '../route.ts';
import { ALL } from '../samples.ts';
import type { Overview } from '../types.ts';
import { A, Away, Loading, Stale } from '../ui.tsx';
import { Charts } from './charts.tsx';
import { Enqueue } from './enqueue.tsx';
import { FirstSteps } from './firstSteps.tsx';
import { ByName } from './queues/byName.tsx';
import { QueueSearch } from './queues/search.tsx';
import { Sums } from './queues/sums.tsx';
import { QueueTable } from './queues/table.tsx';

export function QueuesScreen(props: {
  overview: Overview | undefined;
  problem: Problem | undefined;
  parameters: URLSearchParams;
  reload: () => void;
}) {
  const { overview, problem, parameters, reload } = props;
  const contains = parameters.get('name') ?? '';
  const isByName = parameters.has('all') || contains !== '';
  return (
    <main class="front">
      <h1>Queues</h1>
      <Stale problem={problem} has={overview !== undefined} />
      <Away of={overview?.away} />
      {!overview && !problem && <Loading />}
      {overview && <Sums overview={overview} />}
      {overview && <Charts name={ALL} />}
      <div class="bar">
        <nav class="tabs" aria-label="Which queues">
          <A to="#/" aria-current={isByName ? undefined : 'page'}>
            Trouble first
          </A>
          <A to={link([], { all: '1' })} aria-current={isByName ? 'page' : undefined}>
            All, by name
          </A>
        </nav>
        <search>
          <QueueSearch contains={contains} />
        </search>
      </div>
      {isByName ? (
        <ByName key={contains} contains={contains} known={overview?.queues ?? []} />
      ) : overview && overview.queues.length === 0 ? (
        <FirstSteps queue="mail">
          No queues yet. A queue is created by its first enqueue. Every request: see the{' '}
          <a href="docs">API</a>.{' '}
          {may(overview.caller, 'produce', 'default') && <Enqueue queue="default" done={reload} />}
        </FirstSteps>
      ) : (
        overview && (
          <>
            {!overview.complete && (
              <p class="quiet">Still counting: some numbers are missing for a moment.</p>
            )}
            <QueueTable label="Queues, those with trouble first" queues={overview.queues} />
            {overview.total > overview.queues.length && (
              <p class="quiet">
                {compact(overview.queues.length)} of {count(overview.total)}: those with trouble, then the
                busiest. <A to={link([], { all: '1' })}>All, by name</A>
              </p>
            )}
          </>
        )
      )}
    </main>
  );
}
