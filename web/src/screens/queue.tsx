import { useState } from 'preact/hooks';
import { get, may, part, query } from '../api.ts';
import { Confirm, Do } from '../dialogs.tsx';
import { count, duration, jobs, rate } from '../format.ts';
import { usePoll } from '../poll.ts';
import { go, link } from '../route.ts';
import { askForBefore, noteQueue, samplesOf } from '../samples.ts';
import {
  type Caller,
  type Explanation,
  type Overview,
  type Queue,
  type QueueOverview,
  STATES,
} from '../types.ts';
import {
  A,
  Field,
  JobLink,
  Loading,
  ProblemBox,
  Stale,
  StateName,
  Tabs,
  Trouble,
  When,
  Why,
} from '../ui.tsx';
import { Charts } from './charts.tsx';
import { ConfigForm } from './config.tsx';
import { Enqueue } from './enqueue.tsx';
import { ErrorsTab } from './errors.tsx';
import { FirstSteps } from './firstSteps.tsx';
import { QueueJobs } from './jobs.tsx';
import { WorkerList } from './workers.tsx';

interface Looked {
  queue: Queue;
  live: QueueOverview | undefined;
  explanation: Explanation;
}

/** Dibs counts a queue with more jobs in the background. That costs in proportion, so the page asks for it more rarely. */
const LARGE = 100_000;
const SMALL_MS = 2000;
const LARGE_MS = 5000;

const jobsIn = ({ counts }: Queue, states: readonly string[] = STATES) =>
  states.reduce((sum, state) => sum + counts[state as keyof typeof counts], 0);

async function look(name: string): Promise<Looked> {
  if (samplesOf(name).length === 0) await askForBefore(name);
  const path = `queues/${part(name)}`;
  const [{ body: queue }, { body: explanation }, { body: overview }] = await Promise.all([
    get<Queue>(path),
    get<Explanation>(`${path}/explain`),
    get<Overview>(`overview${query({ limit: 1, queue: name })}`),
  ]);
  const live = overview.queues.find((one) => one.name === name);
  noteQueue({ ...live, ...queue });
  return { queue, live, explanation };
}

/** What a claim would get now, in words. */
const WhatClaimGets = ({ explanation }: { explanation: Explanation }) => (
  <Why code={explanation.code}>
    {explanation.detail} {explanation.job_id && <JobLink id={explanation.job_id} />}{' '}
    {explanation.until && (
      <span class="quiet">
        (<When time={explanation.until} />)
      </span>
    )}
  </Why>
);

const purgeable = STATES.filter((state) => state !== 'leased');

function Purge({ queue, done, close }: { queue: Queue; done: () => void; close: () => void }) {
  const [states, setStates] = useState<string[]>([]);
  return (
    <Confirm
      title={`Purge ${queue.name}`}
      says="Deletes all jobs in these states for good. Jobs enqueued from now on are not affected."
      verb={`Delete ${jobs(jobsIn(queue, states))}`}
      typed={queue.name}
      isChosen={states.length > 0}
      isGrave
      asks={{ method: 'POST', path: `queues/${part(queue.name)}/purge`, body: { states } }}
      done={done}
      close={close}
    >
      <fieldset class="checks">
        <legend>States</legend>
        {purgeable.map((state) => (
          <label key={state}>
            <input
              type="checkbox"
              checked={states.includes(state)}
              onChange={(event) =>
                setStates(
                  event.currentTarget.checked ? [...states, state] : states.filter((one) => one !== state),
                )
              }
            />{' '}
            {state} <span class="quiet">{count(queue.counts[state])}</span>
          </label>
        ))}
      </fieldset>
    </Confirm>
  );
}

function Redrive({
  queue,
  done,
  close,
}: {
  queue: Queue;
  done: (redriven: number) => void;
  close: () => void;
}) {
  const [limit, setLimit] = useState('');
  const [error, setError] = useState('');
  return (
    <Confirm<{ count: number }>
      title={`Redrive ${queue.name}`}
      says={`Makes dead jobs ready again, oldest first. Their attempts are reset to 0. ${jobs(queue.counts.dead)} dead.`}
      verb="Redrive"
      asks={{
        method: 'POST',
        path: `queues/${part(queue.name)}/redrive`,
        body: {
          ...(limit === '' ? {} : { limit: Number(limit) }),
          ...(error === '' ? {} : { error_contains: error }),
        },
      }}
      done={(answer) => done(answer.count)}
      close={close}
    >
      <Field label="Only where the error contains" help="Empty: all dead jobs.">
        <input value={error} maxLength={1024} onInput={(event) => setError(event.currentTarget.value)} />
      </Field>
      <Field label="Limit" help="Empty: no limit.">
        <input type="number" min={1} value={limit} onInput={(event) => setLimit(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}

function Actions({
  queue,
  reload,
  caller,
}: {
  queue: Queue;
  reload: () => void;
  caller: Caller | undefined;
}) {
  if (!caller) return null;
  return (
    <div class="actions">
      {may(caller, 'produce', queue.name) && <Enqueue queue={queue.name} done={reload} />}
      {may(caller, 'admin', queue.name) ? (
        <AdminActions queue={queue} reload={reload} />
      ) : (
        <span class="quiet">
          Read-only: to pause, purge or configure, a key needs the scope admin for this queue.
        </span>
      )}
    </div>
  );
}

function AdminActions({ queue, reload }: { queue: Queue; reload: () => void }) {
  const [open, setOpen] = useState<'pause' | 'purge' | 'redrive' | 'delete'>();
  const [said, setSaid] = useState('');
  const path = `queues/${part(queue.name)}`;
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  return (
    <>
      {queue.paused ? (
        <Do asks={{ method: 'POST', path: `${path}/resume` }} done={reload}>
          Resume
        </Do>
      ) : (
        <button type="button" onClick={() => setOpen('pause')}>
          Pause…
        </button>
      )}
      <button type="button" disabled={queue.counts.dead === 0} onClick={() => setOpen('redrive')}>
        Redrive…
      </button>
      <button type="button" class="grave" onClick={() => setOpen('purge')}>
        Purge…
      </button>
      <button type="button" class="grave" onClick={() => setOpen('delete')}>
        Delete…
      </button>
      <span role="status">{said}</span>
      {open === 'pause' && (
        <Confirm
          title={`Pause ${queue.name}`}
          says="Workers get no more jobs from it. Enqueues are still accepted, and leased jobs run to their end."
          verb="Pause"
          asks={{ method: 'POST', path: `${path}/pause` }}
          done={closeAndLook}
          close={close}
        />
      )}
      {open === 'purge' && <Purge queue={queue} done={closeAndLook} close={close} />}
      {open === 'redrive' && (
        <Redrive
          queue={queue}
          done={(redriven) => {
            setSaid(`${jobs(redriven)} ${redriven === 1 ? 'is' : 'are'} ready again.`);
            closeAndLook();
          }}
          close={close}
        />
      )}
      {open === 'delete' && (
        <Confirm
          title={`Delete ${queue.name}`}
          says="Deletes the queue, its configuration and all its jobs, including leased ones."
          verb="Delete the queue"
          typed={queue.name}
          isGrave
          asks={{ method: 'DELETE', path: `${path}?force=true` }}
          done={() => go('#/')}
          close={close}
        />
      )}
    </>
  );
}

function Numbers({ looked: { queue, live } }: { looked: Looked }) {
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

export function QueueScreen(props: {
  name: string;
  tab: string;
  parameters: URLSearchParams;
  caller: Caller | undefined;
}) {
  const { name, tab, parameters, caller } = props;
  const [everyMs, setEveryMs] = useState(SMALL_MS);
  const ask = async () => {
    const looked = await look(name);
    setEveryMs(jobsIn(looked.queue) > LARGE ? LARGE_MS : SMALL_MS);
    return looked;
  };
  const { data, problem, reload } = usePoll(`queue ${name}`, ask, everyMs);
  const again = () => void reload();
  const tabs: [string, string][] = [
    [link(['queues', name]), 'Overview'],
    [link(['queues', name, 'jobs']), 'Jobs'],
    [link(['queues', name, 'errors']), 'Errors'],
    [link(['queues', name, 'workers']), 'Workers'],
    [link(['queues', name, 'config']), 'Configuration'],
  ];
  const at = link(['queues', name, ...(tab === '' ? [] : [tab])]);
  return (
    <main>
      <p class="crumbs">
        <A to="#/">Queues</A>
      </p>
      <h1>
        {name}{' '}
        {(data?.live?.troubles ?? (data?.queue.paused ? (['paused'] as const) : [])).map((code) => (
          <Trouble key={code} code={code} />
        ))}
      </h1>
      {problem?.code === 'queue_not_found' ? (
        <FirstSteps queue={name}>
          <strong>Queue not found.</strong> It was deleted, or nothing was enqueued into it yet.{' '}
          <A to="#/">All queues</A> {may(caller, 'produce', name) && <Enqueue queue={name} done={again} />}
        </FirstSteps>
      ) : problem?.status === 403 || (problem && !data) ? (
        <ProblemBox problem={problem} />
      ) : (
        <>
          <Stale problem={problem} has={data !== undefined} />
          {!data && <Loading />}
          {data && <WhatClaimGets explanation={data.explanation} />}
          {data && <Actions queue={data.queue} reload={again} caller={caller} />}
          <Tabs of={tabs} at={at} label={`Parts of ${name}`} />
          {tab === '' && data && <Numbers looked={data} />}
          {tab === 'jobs' && <QueueJobs queue={name} parameters={parameters} caller={caller} />}
          {tab === 'errors' && <ErrorsTab queue={name} caller={caller} />}
          {tab === 'workers' && <WorkerList queue={name} />}
          {tab === 'config' && data && (
            <ConfigForm queue={data.queue} isAllowed={may(caller, 'admin', name)} saved={again} />
          )}
        </>
      )}
    </main>
  );
}
