import { useState } from 'preact/hooks';
import { cronProblem, isTimezone, nextTick } from '../../../src/schedules/cron.ts';
import { type Asked, get, Problem, part, send } from '../api.ts';
import { AsCurl, Dialog, useAct } from '../dialogs.tsx';
import { inZone } from '../format.ts';
import { Field, ProblemBox } from '../ui.tsx';
import { areGood, JOB_OPTIONS, type JobValues, membersOf, NewJobInputs, refusedAt } from './jobFields.tsx';

/** The ticks say when its jobs run. */
const OPTIONS = JOB_OPTIONS.filter((name) => name !== 'run_at');
const RUNS = 3;

/** The next runs, by the rules of the service itself. */
function runsOf(cron: string, timezone: string): string[] {
  const runs: string[] = [];
  for (let after = new Date(); runs.length < RUNS; after = new Date(runs.at(-1) as string)) {
    const next = nextTick(cron, timezone, after);
    if (next === null) break;
    runs.push(next);
  }
  return runs;
}

/** `PUT` replaces what is there. This form only creates. */
async function create(asks: Asked, name: string): Promise<void> {
  const found = await get(asks.path).catch((error: Problem) => {
    if (error.code !== 'schedule_not_found') throw error;
  });
  if (found) throw new Problem(409, 'exists', `There is a schedule "${name}" already.`);
  await send(asks);
}

const wrongOr = (wrong: string | undefined, help: string) =>
  wrong ? <strong class="wrong">{wrong}</strong> : help;

export function NewSchedule({ done, close }: { done: () => void; close: () => void }) {
  const [named, setNamed] = useState({ name: '', cron: '0 * * * *', timezone: 'UTC', queue: '' });
  const [values, setValues] = useState<JobValues>({ payload: '{}' });
  const { act, isBusy, problem } = useAct();
  const { name, cron, timezone, queue } = named;
  const badZone = isTimezone(timezone) ? undefined : 'No such time zone.';
  const badCron = badZone ? undefined : cronProblem(cron, timezone, new Date());
  const members = [`"queue":${JSON.stringify(queue)}`, ...membersOf(values)];
  const asks: Asked = {
    method: 'PUT',
    path: `schedules/${part(name)}`,
    body: `{"cron":${JSON.stringify(cron)},"timezone":${JSON.stringify(timezone)},"job":{${members.join(',')}}}`,
  };
  const isGood = !badCron && !badZone && areGood(values) && name !== '' && queue !== '';
  const text = (of: keyof typeof named, label: string, wrong: string | undefined, help: string) => (
    <Field label={label} help={wrongOr(wrong, help)}>
      <input
        value={named[of]}
        required
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong !== undefined}
        onInput={(event) => setNamed({ ...named, [of]: event.currentTarget.value })}
      />
    </Field>
  );
  const refused = (path: string) => {
    const message = refusedAt(problem, path);
    return message && `The value ${message}.`;
  };
  return (
    <Dialog title="New schedule" close={close}>
      <form
        noValidate
        onSubmit={async (event) => {
          event.preventDefault();
          if (isGood && (await act(() => create(asks, name)))) done();
        }}
      >
        <div class="fields">
          {text('name', 'Name', refused('/name'), 'Letters, digits, and . _ : -')}
          {text('queue', 'Queue', refused('/job/queue'), 'A new queue is created.')}
          {text(
            'cron',
            'Cron',
            badCron ? `The cron ${badCron}.` : refused('/cron'),
            'Minute, hour, day of month, month, day of week. Six fields: seconds first.',
          )}
          {text('timezone', 'Time zone', badZone ?? refused('/timezone'), 'Like Europe/Berlin.')}
        </div>
        {!badZone && !badCron && (
          <p class="quiet" role="status">
            Next runs:{' '}
            {runsOf(cron, timezone)
              .map((time) => inZone(time, timezone))
              .join('; ')}
          </p>
        )}
        <NewJobInputs
          options={OPTIONS}
          at="/job"
          values={values}
          problem={problem}
          set={(changed, value) => setValues({ ...values, [changed]: value })}
        />
        <ProblemBox problem={problem} />
        <footer>
          {isGood && <AsCurl of={[asks]} />}
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" class="main" disabled={isBusy || !isGood}>
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
