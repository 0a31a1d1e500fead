import { useState } from 'preact/hooks';
import { get, may, part, query } from '../api.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import { askForBefore, noteQueue, samplesOf } from '../samples.ts';
import type { Caller, Overview, Queue, QueueExplanation, QueueOverview } from '../types.ts';
import { A, InDatabase, JobLink, Loading, ProblemBox, Stale, Tabs, Trouble, When, Why } from '../ui.tsx';
import { ConfigForm } from './config.tsx';
import { Enqueue } from './enqueue.tsx';
import { ErrorsTab } from './errors.tsx';
import { FirstSteps } from './firstSteps.tsx';
import { QueueJobs } from './jobs.tsx';
import { Actions } from './queue/actions.tsx';
import { jobsIn } from './queue/jobsIn.ts';
import { Numbers } from './queue/numbers.tsx';
import { PausedGroups } from './queue/pausedGroups.tsx';
import { WorkerList } from './workers.tsx';

interface Looked {
  queue: Queue;
  live: QueueOverview | undefined;
  explanation: QueueExplanation;
}

/** Dibs counts a queue with more jobs in the background. That costs in proportion, so the page asks for it more rarely. */
const LARGE = 100_000;
const SMALL_MS = 2000;
const LARGE_MS = 5000;

async function look(name: string): Promise<Looked> {
  if (samplesOf(name).length === 0) await askForBefore(name);
  const path = `queues/${part(name)}`;
  const [{ body: queue }, { body: explanation }, { body: overview }] = await Promise.all([
    get<Queue>(path),
    get<QueueExplanation>(`${path}/explain`),
    get<Overview>(`overview${query({ limit: 1, queue: name })}`),
  ]);
  const live = overview.queues.find((one) => one.name === name);
  noteQueue({ ...live, ...queue });
  return { queue, live, explanation };
}

/** What a claim would get now, in words. */
const WhatClaimGets = ({ explanation }: { explanation: QueueExplanation }) => (
  <Why code={explanation.code}>
    {explanation.detail} {explanation.job_id && <JobLink id={explanation.job_id} />}{' '}
    {explanation.until && (
      <span class="quiet">
        (<When time={explanation.until} />)
      </span>
    )}
  </Why>
);

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
        <A to="#/">Queues</A> <InDatabase name={data?.queue.database} />
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
          {data && <PausedGroups queue={data.queue} reload={again} isAllowed={may(caller, 'admin', name)} />}
          <Tabs of={tabs} at={at} label={`Parts of ${name}`} />
          {tab === '' && data && <Numbers queue={data.queue} live={data.live} />}
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
