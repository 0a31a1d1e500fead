import { useMemo, useState } from 'preact/hooks';
import { otherFields } from '../../../src/jobFields.ts';
import { get, may, Problem } from '../api.ts';
import { Confirm, Copy, Do } from '../dialogs.tsx';
import { bytes, duration, local } from '../format.ts';
import { memberText, prettyJson } from '../json.ts';
import { usePoll } from '../poll.ts';
import { link } from '../route.ts';
import type { Caller, Explanation, Job, JobEvent } from '../types.ts';
import {
  A,
  Empty,
  type Fact,
  Facts,
  JobLink,
  Loading,
  ProblemBox,
  QueueLink,
  Stale,
  StateName,
  Table,
  When,
  Why,
} from '../ui.tsx';
import { EditJob } from './edit.tsx';

interface Looked {
  job: Job;
  /** As they were sent: JavaScript would lose digits. */
  payload: string;
  result: string;
  progress: string;
  explanation: Explanation | undefined;
  events: JobEvent[] | undefined;
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
    orNone(get<{ events: JobEvent[]; truncated?: boolean }>(`${path}/history`)),
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

/** More than this is shown only when asked for: a browser takes long to lay it out. */
const SHOWN = 100_000;

function Text({ text, label }: { text: string; label: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > SHOWN;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse must be able to scroll it. */}
      <section tabIndex={0} aria-label={label} class="text">
        <pre>{isCut ? text.slice(0, SHOWN) : text}</pre>
      </section>
      {isCut && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all
        </button>
      )}
    </>
  );
}

/** A JSON text as it was sent, and beside it on many lines. */
function Json({ text, title }: { text: string; title: string }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  return (
    <section class="json">
      <h2>
        {title} <span class="quiet">{bytes(text)}</span> <Copy text={text} />
      </h2>
      <div class="pair">
        <div>
          <h3>Raw</h3>
          <Text text={text} label={`${title}, raw`} />
        </div>
        <div>
          <h3>Formatted</h3>
          <Text text={pretty} label={`${title}, formatted`} />
        </div>
      </div>
    </section>
  );
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

function Trace({ job, traceUrl }: { job: Job; traceUrl: string | undefined }) {
  const [, traceId] = TRACEPARENT.exec(job.headers.traceparent ?? '') ?? [];
  if (!traceId) return <>–</>;
  if (!traceUrl) return <code>{traceId}</code>;
  return (
    <a href={traceUrl.replaceAll('{trace_id}', traceId)} rel="noreferrer" target="_blank" class="mono">
      {traceId}
    </a>
  );
}

/** How long the lease ran. */
const held = ({ at, leased_at }: JobEvent) =>
  at && leased_at ? duration((Date.parse(at) - Date.parse(leased_at)) / 1000) : '–';

const History = ({ events, isTruncated }: Pick<Looked, 'events' | 'isTruncated'>) => (
  <section>
    <h2>History</h2>
    {isTruncated && <p class="quiet">Older events are no longer kept.</p>}
    {events === undefined && <Empty>No history is kept for this job.</Empty>}
    {events?.length === 0 && <Empty>No history is kept for this job.</Empty>}
    {events && events.length > 0 && (
      <Table
        label="History"
        head={
          <>
            <th scope="col">When</th>
            <th scope="col">Event</th>
            <th scope="col" class="n">
              Attempt
            </th>
            <th scope="col">Worker or key</th>
            <th scope="col" class="n">
              Duration
            </th>
            <th scope="col">Details</th>
          </>
        }
      >
        {events.map((event, i) => (
          // Events have no id, and only grow at the end.
          <tr key={i}>
            <td>
              {local(event.at)} <span class="quiet">{<When time={event.at} />}</span>
            </td>
            <td>{event.event.replaceAll('_', ' ')}</td>
            <td class="n">{event.attempt ?? '–'}</td>
            <td>
              {event.worker ?? event.by ?? '–'}{' '}
              {event.worker && event.by && <span class="quiet">key {event.by}</span>}
            </td>
            <td class="n">{held(event)}</td>
            <td class="error">
              {event.error && <div class="lines">{event.error}</div>}
              {event.run_at && (
                <div class="quiet">
                  runs <When time={event.run_at} />
                </div>
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
  </section>
);

function Actions({
  looked,
  reload,
  caller,
}: {
  looked: Looked;
  reload: () => void;
  caller: Caller | undefined;
}) {
  const [open, setOpen] = useState<'cancel' | 'edit'>();
  const { job } = looked;
  const path = `jobs/${encodeURIComponent(job.id)}`;
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  if (!caller) return null;
  if (!may(caller, 'admin', job.queue))
    return (
      <p class="quiet">Read-only: to retry, cancel or edit, a key needs the scope admin for this queue.</p>
    );
  const isChangeable = ['scheduled', 'ready', 'blocked', 'dead'].includes(job.state);
  return (
    <div class="actions">
      {(job.state === 'dead' || job.state === 'scheduled') && (
        <Do asks={{ method: 'POST', path: `${path}/retry` }} done={reload}>
          {job.state === 'dead' ? 'Retry' : 'Run now'}
        </Do>
      )}
      {isChangeable && (
        <button type="button" onClick={() => setOpen('edit')}>
          Edit…
        </button>
      )}
      {(isChangeable || job.state === 'leased') && (
        <button type="button" class="grave" onClick={() => setOpen('cancel')}>
          Cancel…
        </button>
      )}
      {open === 'edit' && <EditJob job={job} payload={looked.payload} done={closeAndLook} close={close} />}
      {open === 'cancel' && (
        <Confirm
          title="Cancel this job"
          says={
            job.state === 'leased'
              ? 'A worker has it. The worker is told at its next heartbeat (extend). If it still acks, the job is completed; otherwise it is cancelled.'
              : 'No worker will get it.'
          }
          verb="Cancel the job"
          isGrave
          asks={{ method: 'DELETE', path }}
          done={closeAndLook}
          close={close}
        />
      )}
    </div>
  );
}

/** What stands elsewhere on the page. */
const ELSEWHERE = {
  id: '',
  queue: '',
  state: '',
  max_attempts: '',
  headers: '',
  payload: '',
  progress: '',
  result: '',
  last_error: '',
};

const titleOf = (field: string) => field.charAt(0).toUpperCase() + field.slice(1).replaceAll('_', ' ');
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function factsOf(job: Job, traceUrl: string | undefined): Fact[] {
  const known: Record<string, Fact> = {
    attempt: ['Attempt', `${job.attempt} of ${job.max_attempts}`],
    deliveries: ['Deliveries', job.deliveries],
    priority: ['Priority', job.priority],
    group: ['Group', job.group ?? '–'],
    unique_key: ['Unique key', job.unique_key ?? '–'],
    fairness_key: ['Fairness key', job.fairness_key ?? '–'],
    worker: ['Worker', job.worker ?? '–'],
    created_at: ['Enqueued', <When key="c" time={job.created_at} />],
    run_at: ['Scheduled for', <When key="r" time={job.run_at} />],
    lease_expires_at: ['Lease expires', <When key="l" time={job.lease_expires_at} />],
    finished_at: ['Finished', <When key="f" time={job.finished_at} />],
  };
  const fields = job as unknown as Record<string, unknown>;
  const others = otherFields({ ...known, ...ELSEWHERE }).map(
    (name): Fact => [
      titleOf(name),
      fields[name] === null || fields[name] === undefined ? '–' : textOf(fields[name]),
    ],
  );
  return [...Object.values(known), ...others, ['Trace', <Trace key="t" job={job} traceUrl={traceUrl} />]];
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
          <Actions looked={data} reload={() => void reload()} caller={caller} />
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
