import { useEffect, useState } from 'preact/hooks';
import { get, may, type Problem, query } from '../api.ts';
import { DEPTH, FLOW, Spark, SparkAxis } from '../charts.tsx';
import { compact, count, duration, rate } from '../format.ts';
import { usePoll } from '../poll.ts';
import { link, replace } from '../route.ts';
import { ALL, samplesOf } from '../samples.ts';
import type { Overview, Queue, QueueOverview } from '../types.ts';
import { A, Empty, Loading, Pager, QueueLink, Stale, Table, Trouble } from '../ui.tsx';
import { Charts } from './charts.tsx';
import { Enqueue } from './enqueue.tsx';
import { FirstSteps } from './firstSteps.tsx';

const failures = (queue: Pick<QueueOverview, 'per_second'>) =>
  queue.per_second && queue.per_second.nacked + queue.per_second.rescued;

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

function Sums({ overview }: { overview: Overview }) {
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
      <Sum title="Completed" value={`${rate(rates.acked)}/s`} says={`${rate(failures(overview))}/s failed`} />
      <Sum
        title="Drains in"
        value={duration(overview.drain_seconds)}
        says={overview.drain_seconds === null ? 'backlog not shrinking' : ''}
      />
      <Sum title="Dead" value={count(counts.dead)} says={`${rate(rates.dead)}/s`} />
    </section>
  );
}

const HEAD = (
  <>
    <th scope="col">Queue</th>
    <th scope="col" class="n">
      Ready
    </th>
    <th scope="col" class="n">
      Leased
    </th>
    <th scope="col" class="n">
      Scheduled
    </th>
    <th scope="col" class="n">
      Dead
    </th>
    <th scope="col" class="n">
      Oldest
    </th>
    <th scope="col" class="n">
      Enqueued/s
    </th>
    <th scope="col" class="n">
      Completed/s
    </th>
    <th scope="col" class="n">
      Failed/s
    </th>
    <th scope="col" class="n">
      Drains in
    </th>
    <th scope="col">
      Depth <SparkAxis />
    </th>
    <th scope="col">
      Flow <SparkAxis />
    </th>
  </>
);

function Row({ queue }: { queue: QueueOverview }) {
  const { name, counts, per_second: rates } = queue;
  const samples = samplesOf(name);
  return (
    <tr data-row class={queue.troubles.length > 0 ? 'troubled' : undefined}>
      <th scope="row">
        <QueueLink name={name} />{' '}
        {queue.troubles.map((code) => (
          <Trouble key={code} code={code} />
        ))}
      </th>
      <td class="n">{count(counts?.ready)}</td>
      <td class="n">{count(counts?.leased)}</td>
      <td class="n">{count(counts?.scheduled)}</td>
      <td class="n">
        {counts?.dead ? (
          <A to={link(['queues', name, 'jobs'], { state: 'dead' })}>{count(counts.dead)}</A>
        ) : (
          count(counts?.dead)
        )}
      </td>
      <td class="n">{duration(queue.oldest_ready_age_seconds)}</td>
      <td class="n">{rate(rates?.enqueued)}</td>
      <td class="n">{rate(rates?.acked)}</td>
      <td class="n">{rate(failures(queue))}</td>
      <td class="n">{duration(queue.paused ? null : queue.drain_seconds)}</td>
      <td>
        <Spark title="Depth" samples={samples} lines={DEPTH} />
      </td>
      <td>
        <Spark title="Flow" samples={samples} lines={FLOW} />
      </td>
    </tr>
  );
}

const PAGE = 50;

/** Every queue there is, page by page, as the database has them. */
function ByName({ contains, known }: { contains: string; known: QueueOverview[] }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const at = cursors.at(-1);
  const { data, problem } = usePoll(
    `queues ${contains} ${at}`,
    async () =>
      (
        await get<{ queues: Queue[]; next_cursor: string | null }>(
          `queues${query({ limit: PAGE, cursor: at, name_contains: contains })}`,
        )
      ).body,
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
      paused: queue.paused,
      counts: queue.counts,
      oldest_ready_age_seconds: queue.oldest_ready_age_seconds,
    };
  });
  const { next_cursor: next } = data;
  return (
    <>
      <Stale problem={problem} has />
      <Table head={HEAD} label="Queues by name">
        {shown.map((queue) => (
          <Row key={queue.name} queue={queue} />
        ))}
      </Table>
      <Pager cursors={cursors} setCursors={setCursors} next={next} />
    </>
  );
}

/** Who types on within this time asks once. */
const PAUSE_MS = 300;
const showNamed = (name: string) => replace(link([], { name }));

/** Searches as one types. */
function QueueSearch({ contains }: { contains: string }) {
  const [typed, setTyped] = useState(contains);
  useEffect(() => setTyped(contains), [contains]);
  useEffect(() => {
    if (typed === contains) return undefined;
    const timer = setTimeout(() => showNamed(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        showNamed(typed);
      }}
    >
      <input
        data-search
        type="search"
        aria-label="Part of a queue's name"
        placeholder="Search queues ( / )"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}

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
            <Table head={HEAD} label="Queues, those with trouble first">
              {overview.queues.map((queue) => (
                <Row key={queue.name} queue={queue} />
              ))}
            </Table>
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
