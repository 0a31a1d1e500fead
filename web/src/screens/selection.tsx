import { useState } from 'preact/hooks';
import { type Asked, may, Problem, send } from '../api.ts';
import { AsCurl, Dialog, useAct } from '../dialogs.tsx';
import { jobs as countOf } from '../format.ts';
import type { Caller, Job } from '../types.ts';
import { ProblemBox } from '../ui.tsx';

const pathOf = ({ id }: Job) => `jobs/${encodeURIComponent(id)}`;

/** What can be done to single jobs: in which states, and by which request. */
const VERBS = {
  retry: {
    title: 'Retry',
    says: 'They become ready now, and their attempts are reset to 0.',
    states: ['dead', 'scheduled'],
    asks: (job: Job): Asked => ({ method: 'POST', path: `${pathOf(job)}/retry` }),
  },
  cancel: {
    title: 'Cancel',
    says: 'No worker will get them. The workers of leased jobs are told at their next heartbeat.',
    states: ['scheduled', 'ready', 'blocked', 'leased', 'dead'],
    asks: (job: Job): Asked => ({ method: 'DELETE', path: pathOf(job) }),
  },
};
type Verb = keyof typeof VERBS;

/** The jobs of a page that are ticked. A job that leaves the page is no longer selected. */
export function useSelection(shown: Job[], caller: Caller | undefined) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const eligible = shown.filter(({ queue }) => may(caller, 'admin', queue));
  const selected = eligible.filter(({ id }) => ids.has(id));
  return {
    selected,
    isOffered: eligible.length > 0,
    mayTake: (job: Job) => eligible.includes(job),
    has: (job: Job) => ids.has(job.id),
    isAll: selected.length > 0 && selected.length === eligible.length,
    toggle: ({ id }: Job) =>
      setIds(ids.has(id) ? new Set([...ids].filter((one) => one !== id)) : new Set([...ids, id])),
    all: (isOn: boolean) => setIds(new Set(isOn ? eligible.map(({ id }) => id) : [])),
    clear: () => setIds(new Set()),
  };
}
export type Selection = ReturnType<typeof useSelection>;

/** Does one after the other. What is refused keeps the others from nothing. */
async function actOnEach(jobs: Job[], verb: Verb): Promise<void> {
  const refused: Problem[] = [];
  for (const job of jobs) {
    try {
      await send(VERBS[verb].asks(job));
    } catch (error) {
      if (!(error instanceof Problem) || error.isOutage) throw error;
      refused.push(error);
    }
  }
  const [first] = refused;
  if (first)
    throw new Problem(
      first.status,
      first.code,
      `${jobs.length - refused.length} of ${countOf(jobs.length)} changed. The first refusal: ${first.message}`,
    );
}

function ActDialog({
  verb,
  of,
  close,
  done,
}: {
  verb: Verb;
  of: Job[];
  close: () => void;
  done: () => void;
}) {
  // The list goes on below the dialog: the jobs are those of when it was opened.
  const [jobs] = useState(of);
  const { act, isBusy, problem } = useAct();
  const { title, says, asks } = VERBS[verb];
  return (
    <Dialog title={`${title} ${countOf(jobs.length)}`} close={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (await act(() => actOnEach(jobs, verb))) done();
        }}
      >
        <div class="says">{says}</div>
        <ProblemBox problem={problem} />
        <footer>
          <AsCurl of={jobs.map(asks)} />
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Working…' : `${title} ${countOf(jobs.length)}`}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** What can be done to the selected jobs. */
export function SelectedActs({ selection, reload }: { selection: Selection; reload: () => void }) {
  const [verb, setVerb] = useState<Verb>();
  const { selected, clear } = selection;
  const fitting = (name: Verb) => selected.filter(({ state }) => VERBS[name].states.includes(state));
  if (selected.length === 0 && verb === undefined) return null;
  return (
    <div class="bulk" role="status">
      <span>{countOf(selected.length)} selected</span>
      {(Object.keys(VERBS) as Verb[]).map((name) => (
        <button key={name} type="button" disabled={fitting(name).length === 0} onClick={() => setVerb(name)}>
          {VERBS[name].title} {fitting(name).length}…
        </button>
      ))}
      <button type="button" class="plain" onClick={clear}>
        Clear selection
      </button>
      {verb && (
        <ActDialog
          verb={verb}
          of={fitting(verb)}
          close={() => {
            setVerb(undefined);
            reload();
          }}
          done={() => {
            setVerb(undefined);
            clear();
            reload();
          }}
        />
      )}
    </div>
  );
}
