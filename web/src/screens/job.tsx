import { get, Problem } from '../api.ts';
import { memberText } from '../json.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import type { Caller, Explanation, HistoryEvent, Job, JobHistory } from '../types.ts';
import { A, Facts, JobLink, Loading, ProblemBox, QueueLink, Stale, StateName, Why } from '../ui.tsx';
import { Actions } from './job/actions.tsx';
import { factsOf } from './job/facts.tsx';
import { History } from './job/history.tsx';
import { Json, Text } from './job/texts.tsx';

interface Looked {
  job: Job;
  /** As they were sent: JavaScript would lose digits. */
  payload: string;
  result: string;
  progress: string;
  explanation: Explanation | undefined;
  events: HistoryEvent[] | undefined;
  /** Older events were dropped. */
  isTruncated: boolean;
}

/** What an older Dibs does not know yet. A job that is gone is told by the job itself. */
const orNone = <T,>(asked: Promise<T>) =>
  asked.catch((error) => {
    if (error instanceof Problem && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  });

async function look(id: string): Promise<Looked> {
  const path = `jobs/${encodeURIComponent(id)}`;
  const [{ body: job, text }, explanation, history] = await Promise.all([
    get<Job>(`${path}?payload_format=text`),
    orNone(get<Explanation>(`${path}/explain`)),
    orNone(get<JobHistory>(`${path}/history`)),
  ]);
  return {
    job,
    payload: job.payload_text ?? 'null',
    result: memberText(text, 'result') ?? 'null',
    progress: memberText(text, 'progress') ?? 'null',
    explanation: explanation?.body,
    events: history?.body.events,
    isTruncated: history?.body.truncated ?? false,
  };
}

export function JobScreen({
  id,
  caller,
  traceUrl,
}: {
  id: string;
  caller: Caller | undefined;
  traceUrl: string | undefined;
}) {
  const { data, problem, reload } = usePoll(`job ${id}`, () => look(id), 2000);
  const isGone = problem?.code === 'job_not_found';
  if (!data)
    return (
      <main>
        <p class="crumbs">
          <A to="#/jobs">Jobs</A>
        </p>
        <h1 class="mono">{id}</h1>
        {isGone ? (
          <p class="why">
            <strong>Job not found.</strong> It is completed and no longer kept (see the queue's{' '}
            <code>retention_seconds</code>), it was deleted, or this key may not read its queue.
          </p>
        ) : problem ? (
          <ProblemBox problem={problem} />
        ) : (
          <Loading />
        )}
      </main>
    );
  const { job, explanation } = data;
  return (
    <main>
      <p class="crumbs">
        <A to="#/">Queues</A> / <QueueLink name={job.queue} /> /{' '}
        <A to={link(['queues', job.queue, 'jobs'])}>Jobs</A>
      </p>
      <h1 class="mono">
        {job.id} {!isGone && <StateName state={job.state} />}
      </h1>
      {isGone ? (
        <p class="why" role="status">
          <strong>This job is gone.</strong> It was completed or deleted. Below is how it was seen last.
        </p>
      ) : (
        <>
          <Stale problem={problem} has />
          {explanation && (
            <Why code={explanation.code}>
              {explanation.detail}{' '}
              {explanation.blocking_job_id && <JobLink id={explanation.blocking_job_id} />}
            </Why>
          )}
          <Actions job={job} payload={data.payload} reload={() => void reload()} caller={caller} />
        </>
      )}
      {job.last_error !== null && (
        <section>
          <h2>Last error</h2>
          <Text text={job.last_error} label="Last error" />
        </section>
      )}
      <Json title="Payload" text={data.payload} />
      {data.progress !== 'null' && <Json title="Progress" text={data.progress} />}
      {data.result !== 'null' && <Json title="Result" text={data.result} />}
      <Facts of={factsOf(job, traceUrl)} />
      {Object.keys(job.headers).length > 0 && (
        <section>
          <h2>Headers</h2>
          <Facts
            of={Object.entries(job.headers).map(([name, value]) => [name, <code key={name}>{value}</code>])}
          />
        </section>
      )}
      <History events={data.events} isTruncated={data.isTruncated} />
    </main>
  );
}
