import { otherFields } from '../../../../src/jobFields.ts';
import type { Job } from '../../types.ts';
import { BatchLink, type Fact, When } from '../../ui.tsx';

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

/** The fields of a job, by name. */
export function factsOf(job: Job, traceUrl: string | undefined): Fact[] {
  const known: Record<string, Fact> = {
    attempt: ['Attempt', `${job.attempt} of ${job.max_attempts}`],
    deliveries: ['Deliveries', job.deliveries],
    priority: ['Priority', job.priority],
    group: ['Group', job.group ?? '–'],
    unique_key: ['Unique key', job.unique_key ?? '–'],
    fairness_key: ['Fairness key', job.fairness_key ?? '–'],
    batch: ['Batch', job.batch === null ? '–' : <BatchLink key="b" id={job.batch} />],
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
