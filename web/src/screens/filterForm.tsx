import { useEffect, useRef, useState } from 'preact/hooks';
import { STATES } from '../types.ts';
import { useTyping } from '../typing.ts';
import { type Children, Field } from '../ui.tsx';
import { FILTERS, type Filters, fromField, inWords, toField } from './filters.ts';

const TEXTS = [
  ['group', 'Group'],
  ['unique_key', 'Unique key'],
  ['fairness_key', 'Fairness key'],
  ['worker', 'Worker'],
  ['batch', 'Batch'],
  ['error_contains', 'Error contains'],
  ['payload_contains', 'Payload contains'],
] as const;

const TIMES = [
  ['created_after', 'Enqueued after'],
  ['created_before', 'Enqueued before'],
] as const;

/** What stands in the fields. */
function readForm(form: HTMLFormElement): { asked: Filters; queue: string } {
  const data = new FormData(form);
  const given = (name: string) => String(data.get(name) ?? '').trim();
  const asked: Filters = {};
  for (const name of FILTERS) {
    const value = name.startsWith('created_') ? fromField(given(name)) : given(name);
    if (value !== '') asked[name] = value;
  }
  return { asked, queue: given('queue') };
}

interface FormProps {
  filters: Filters;
  /** Undefined: the queue is given. */
  queue?: string;
  /** `isTyped`: somebody is still typing. */
  apply: (filters: Filters, queue: string, isTyped: boolean) => void;
}

/**
 * Filters that hold as one types. `shown` says which ones hold. `apply` takes those in the fields, and says the same of them.
 * `isTyped`: somebody is still typing.
 */
export function TypedFilters({
  shown,
  apply,
  children,
}: { shown: string; apply: (form: HTMLFormElement, isTyped: boolean) => string } & Children) {
  const own = useRef(shown);
  const { whenTyped, stopTyping } = useTyping();
  const [turn, setTurn] = useState(0);
  // A link or the back button has changed the filters: the fields begin anew with them.
  useEffect(() => {
    if (own.current === shown) return;
    own.current = shown;
    setTurn((n) => n + 1);
  }, [shown]);

  function applyForm(form: HTMLFormElement, isTyped: boolean): void {
    stopTyping();
    own.current = apply(form, isTyped);
  }
  return (
    <form
      key={turn}
      class="filters"
      aria-label="Filters"
      onInput={({ currentTarget: form }) => whenTyped(() => applyForm(form, true))}
      onSubmit={(event) => {
        event.preventDefault();
        applyForm(event.currentTarget, false);
      }}
    >
      {children}
      <div class="buttons">
        <button type="submit" class="main">
          Filter
        </button>
      </div>
    </form>
  );
}

const keyOf = (filters: Filters, queue: string) => JSON.stringify([filters, queue]);

/** The filters of a list of jobs. On a narrow screen they are folded, so that jobs are seen. */
export function FilterForm({ filters, queue, apply }: FormProps) {
  const [isWide] = useState(() => matchMedia('(width > 640px)').matches);
  const set = [queue && `queue ${queue}`, inWords(filters), filters.order === 'oldest' && 'oldest first'];
  return (
    <details open={isWide}>
      <summary>Filters: {set.filter(Boolean).join(', ') || 'none'}</summary>
      <TypedFilters
        shown={keyOf(filters, queue ?? '')}
        apply={(form, isTyped) => {
          const { asked, queue: named } = readForm(form);
          apply(asked, named, isTyped);
          return keyOf(asked, named);
        }}
      >
        <FilterFields filters={filters} queue={queue} />
      </TypedFilters>
    </details>
  );
}

function FilterFields({ filters, queue }: { filters: Filters; queue: string | undefined }) {
  return (
    <>
      <Field label="State">
        <select name="state" defaultValue={filters.state ?? ''}>
          <option value="" selected={!filters.state}>
            any
          </option>
          {STATES.map((state) => (
            <option key={state} value={state} selected={filters.state === state}>
              {state}
            </option>
          ))}
        </select>
      </Field>
      {queue !== undefined && (
        <Field label="Queue">
          <input name="queue" defaultValue={queue} />
        </Field>
      )}
      {TEXTS.map(([name, label], i) => (
        <Field key={name} label={label}>
          <input
            name={name}
            maxLength={256}
            data-search={queue === undefined && i === 0 ? true : undefined}
            defaultValue={filters[name] ?? ''}
          />
        </Field>
      ))}
      {TIMES.map(([name, label]) => (
        <Field key={name} label={label}>
          <input type="datetime-local" step={1} name={name} defaultValue={toField(filters[name])} />
        </Field>
      ))}
      <Field label="Order">
        <select name="order">
          <option value="" selected={filters.order !== 'oldest'}>
            newest first
          </option>
          <option value="oldest" selected={filters.order === 'oldest'}>
            oldest first
          </option>
        </select>
      </Field>
    </>
  );
}
