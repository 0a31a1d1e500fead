import type { Problem } from '../api.ts';
import { jsonProblem } from '../json.ts';
import { Field } from '../ui.tsx';
import { fromField } from './filters.ts';

/*
 * The fields of a job that a form has. A payload goes as it was typed: it is never parsed and written again.
 */

interface Input {
  label: string;
  help?: string;
  kind: 'json' | 'text' | 'number' | 'time';
  min?: number;
  max?: number;
}

const INPUTS = {
  payload: { label: 'Payload', help: 'Any JSON. Stored exactly as typed.', kind: 'json' },
  headers: { label: 'Headers', help: 'A JSON object of strings.', kind: 'json' },
  priority: { label: 'Priority', help: '-100 to 100, higher first.', kind: 'number', min: -100, max: 100 },
  max_attempts: { label: 'Max attempts', kind: 'number', min: 1, max: 1000 },
  delay_seconds: { label: 'Delay (seconds)', help: 'Or a time to run at.', kind: 'number', min: 0 },
  run_at: { label: 'Run at', help: 'A time in the past means now.', kind: 'time' },
  expires_in_seconds: { label: 'Expires in (seconds)', kind: 'number', min: 0 },
  group: { label: 'Group', help: 'Jobs of a group run one at a time, in order.', kind: 'text' },
  unique_key: { label: 'Unique key', help: 'At most one unfinished job has it.', kind: 'text' },
  unique_for_seconds: { label: 'Unique for (seconds)', kind: 'number', min: 0 },
  on_duplicate: {
    label: 'On duplicate',
    help: 'keep or replace: what becomes of a waiting job that has the key.',
    kind: 'text',
  },
  fairness_key: { label: 'Fairness key', help: 'Keys take turns.', kind: 'text' },
} satisfies Record<string, Input>;

export type JobFieldName = keyof typeof INPUTS;
/** What a job may have besides its payload, in the order of the forms. */
export const JOB_OPTIONS: JobFieldName[] = [
  'delay_seconds',
  'run_at',
  'priority',
  'max_attempts',
  'group',
  'unique_key',
  'unique_for_seconds',
  'on_duplicate',
  'fairness_key',
  'expires_in_seconds',
  'headers',
];

export type JobValues = Partial<Record<JobFieldName, string>>;

const headersProblem = (text: string): string | undefined => {
  const headers: unknown = JSON.parse(text);
  const isObject = typeof headers === 'object' && headers !== null && !Array.isArray(headers);
  if (isObject && Object.values(headers).every((value) => typeof value === 'string')) return undefined;
  return 'must be an object of strings, like {"tenant": "a"}';
};

/** What is wrong with a value as it is typed. Undefined when it is good, or left empty. */
export function valueProblem(name: JobFieldName, value = ''): string | undefined {
  if (INPUTS[name].kind !== 'json' || value.trim() === '') return undefined;
  const problem = jsonProblem(value);
  if (problem !== undefined) return `Not valid JSON: ${problem}`;
  return name === 'headers' ? headersProblem(value) : undefined;
}

export const areGood = (values: JobValues): boolean =>
  Object.entries(values).every(([name, value]) => valueProblem(name as JobFieldName, value) === undefined);

const jsonOf = (name: JobFieldName, value: string): string => {
  const { kind } = INPUTS[name];
  if (kind === 'json') return value.trim();
  return kind === 'number'
    ? String(Number(value))
    : JSON.stringify(kind === 'time' ? fromField(value) : value);
};

/** The members of a JSON object for the values that differ from the first ones. What is empty is left out. */
export const membersOf = (values: JobValues, first: JobValues = {}): string[] =>
  (Object.entries(values) as [JobFieldName, string][])
    .filter(([name, value]) => value.trim() !== '' && value !== first[name])
    .map(([name, value]) => `"${name}":${jsonOf(name, value)}`);

/** What the service says of the field at `path`. */
export const refusedAt = (problem: Problem | undefined, path: string): string | undefined =>
  problem?.errors?.find((error) => error.path === path || error.path.startsWith(`${path}/`))?.message;

interface Shown {
  values: JobValues;
  set: (name: JobFieldName, value: string) => void;
  problem: Problem | undefined;
  /** Where the job stands in the body that the service refuses. */
  at?: string;
}

export function JobInput(props: Shown & { name: JobFieldName }) {
  const { name, values, set, problem, at = '' } = props;
  const { label, help, kind, min, max }: Input = INPUTS[name];
  const value = values[name] ?? '';
  const refused = refusedAt(problem, `${at}/${name}`);
  const wrong = valueProblem(name, value) ?? (refused && `The value ${refused}.`);
  const common = {
    value,
    'aria-invalid': wrong !== undefined,
    onInput: (event: { currentTarget: { value: string } }) => set(name, event.currentTarget.value),
  };
  return (
    <Field label={label} help={wrong ? <strong class="wrong">{wrong}</strong> : help}>
      {kind === 'json' ? (
        <textarea class="mono" rows={name === 'payload' ? 8 : 3} spellcheck={false} {...common} />
      ) : kind === 'number' ? (
        <input type="number" min={min} max={max} step="any" {...common} />
      ) : kind === 'time' ? (
        <input type="datetime-local" step={1} {...common} />
      ) : (
        <input maxLength={256} autocomplete="off" {...common} />
      )}
    </Field>
  );
}

/** The fields of a new job: its payload and, behind a click, the options. */
export function NewJobInputs({ options, ...shown }: Shown & { options: JobFieldName[] }) {
  return (
    <>
      <JobInput name="payload" {...shown} />
      <details open={shown.problem !== undefined}>
        <summary>Options</summary>
        <div class="fields">
          {options.map((name) => (
            <JobInput key={name} name={name} {...shown} />
          ))}
        </div>
      </details>
    </>
  );
}
