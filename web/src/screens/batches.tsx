import { useState } from 'preact/hooks';
import { get, part, query } from '../api.ts';
import { usePoll } from '../poll.ts';
import { go, link, replace } from '../route.ts';
import { BATCH_STATES, type Batch, type BatchExplanation, type BatchPage, type Caller } from '../types.ts';
import { A, Away, Empty, Field, JobLink, Loading, Pager, ProblemBox, Stale, Why } from '../ui.tsx';
import { Actions } from './batches/actions.tsx';
import { finishedIn, unfinishedIn } from './batches/counts.ts';
import { BatchFacts, Progress } from './batches/numbers.tsx';
import { BatchTable } from './batches/table.tsx';
import { TypedFilters } from './filterForm.tsx';
import { JobList } from './jobList.tsx';

const PAGE = 50;
const LIST_MS = 5000;
/** Dibs counts the unfinished jobs of a batch at each request. So the page asks for those of a larger batch more rarely. */
const LARGE = 100_000;
const SMALL_MS = 2000;
const LARGE_MS = 5000;

function BatchFilters({ queue, state }: { queue: string; state: string }) {
  return (
    <TypedFilters
      shown={JSON.stringify([queue, state])}
      apply={(form, isTyped) => {
        const given = (name: string) => String(new FormData(form).get(name)).trim();
        const asked = { queue: given('queue'), state: given('state') };
        (isTyped ? replace : go)(link(['batches'], asked));
        return JSON.stringify([asked.queue, asked.state]);
      }}
    >
      <Field label="Queue">
        <input name="queue" data-search defaultValue={queue} />
      </Field>
      <Field label="State">
        <select name="state">
          <option value="" selected={state === ''}>
            any
          </option>
          {BATCH_STATES.map((one) => (
            <option key={one} value={one} selected={one === state}>
              {one}
            </option>
          ))}
        </select>
      </Field>
    </TypedFilters>
  );
}

export function BatchesScreen({ parameters }: { parameters: URLSearchParams }) {
  const queue = parameters.get('queue') ?? '';
  const state = parameters.get('state') ?? '';
  return (
    <main class="batches">
      <h1>Batches</h1>
      <p class="quiet">Jobs that belong together, and what follows when all of them are finished.</p>
      <BatchFilters queue={queue} state={state} />
      <FoundBatches key={JSON.stringify([queue, state])} queue={queue} state={state} />
    </main>
  );
}

function FoundBatches({ queue, state }: { queue: string; state: string }) {
  const [cursors, setCursors] = useState<string[]>([]);
  const path = `batches${query({ queue, state, limit: PAGE, cursor: cursors.at(-1) })}`;
  const { data, problem } = usePoll(path, async () => (await get<BatchPage>(path)).body, LIST_MS);
  if (!data) return problem ? <Stale problem={problem} has={false} /> : <Loading />;
  return (
    <>
      <Stale problem={problem} has />
      <Away of={data.away} />
      {data.batches.length > 0 ? (
        <BatchTable batches={data.batches} />
      ) : (
        <Empty>
          {queue !== '' || state !== ''
            ? 'No batches match.'
            : 'No batches here. One that has ended is kept while the retention of its queue lasts.'}
        </Empty>
      )}
      <Pager cursors={cursors} setCursors={setCursors} next={data.next_cursor} />
    </>
  );
}

interface Looked {
  batch: Batch;
  explanation: BatchExplanation;
}

async function look(id: string): Promise<Looked> {
  const path = `batches/${part(id)}`;
  const [{ body: batch }, { body: explanation }] = await Promise.all([
    get<Batch>(path),
    get<BatchExplanation>(`${path}/explain`),
  ]);
  return { batch, explanation };
}

export function BatchScreen(props: { id: string; parameters: URLSearchParams; caller: Caller | undefined }) {
  const { id, parameters, caller } = props;
  const [everyMs, setEveryMs] = useState(SMALL_MS);
  const ask = async () => {
    const looked = await look(id);
    setEveryMs(unfinishedIn(looked.batch) > LARGE ? LARGE_MS : SMALL_MS);
    return looked;
  };
  const { data, problem, reload } = usePoll(`batch ${id}`, ask, everyMs);
  const { batch, explanation } = data ?? {};
  const isGone = problem?.code === 'batch_not_found';
  return (
    <main class="batches">
      <p class="crumbs">
        <A to="#/batches">Batches</A>
      </p>
      <h1 class={batch?.name ? undefined : 'mono'}>{batch?.name ?? id}</h1>
      {isGone ? (
        <p class="why" role="status">
          <strong>Batch not found.</strong> It ended and is no longer kept (see the{' '}
          <code>retention_seconds</code> of its queue), or this key may not read its queue.
        </p>
      ) : data ? (
        <Stale problem={problem} has />
      ) : problem ? (
        <ProblemBox problem={problem} />
      ) : (
        <Loading />
      )}
      {!isGone && batch && explanation && (
        <>
          <Why code={explanation.code}>
            {explanation.detail} {explanation.job_id && <JobLink id={explanation.job_id} />}
          </Why>
          <Actions batch={batch} caller={caller} reload={() => void reload()} />
          <Progress batch={batch} at={parameters.get('state') ?? ''} />
          <BatchFacts batch={batch} />
          <BatchJobs batch={batch} state={parameters.get('state') ?? ''} caller={caller} />
        </>
      )}
    </main>
  );
}

/** The jobs of a batch, of one state or of all. */
function BatchJobs({ batch, state, caller }: { batch: Batch; state: string; caller: Caller | undefined }) {
  const filters = { batch: batch.id, ...(state === '' ? {} : { state }) };
  return (
    <section>
      <h2>{state === '' ? 'Jobs' : `Jobs that are ${state}`}</h2>
      {state !== '' && (
        <p>
          <A to={link(['batches', batch.id])}>All jobs of this batch</A>
        </p>
      )}
      <JobList key={state} queue={undefined} filters={filters} caller={caller} />
      {finishedIn(batch) > 0 && (
        <p class="quiet">Finished jobs that are no longer kept still count, but are not listed.</p>
      )}
    </section>
  );
}
