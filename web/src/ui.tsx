import type { ComponentChildren } from 'preact';
import { TROUBLE_HELP, type Trouble as TroubleCode, troubleTitle } from '../../src/verbs/counting.ts';
import type { Problem } from './api.ts';
import { away, local } from './format.ts';
import { link } from './route.ts';
import type { Batch, Database, JobState, Operation } from './types.ts';

export interface Children {
  children?: ComponentChildren;
}

interface LinkProps extends Children {
  to: string;
  class?: string;
  'aria-current'?: 'page' | undefined;
}

export const A = ({ to, ...rest }: LinkProps) => <a href={to} {...rest} />;

export const QueueLink = ({ name }: { name: string }) => <A to={link(['queues', name])}>{name}</A>;
export const JobLink = ({ id }: { id: string }) => (
  <A to={link(['jobs', id])} class="mono">
    {id}
  </A>
);

export const BatchLink = ({ id }: { id: string }) => (
  <A to={link(['batches', id])} class="mono">
    {id}
  </A>
);

type State = JobState | Batch['state'] | Operation['state'] | Database['state'];

export const StateName = ({ state }: { state: State }) => <span class={`state ${state}`}>{state}</span>;

/** Somebody asked for these. The others are faults. */
const ASKED_FOR: TroubleCode[] = ['max_leased_reached', 'paused'];

export const Trouble = ({ code }: { code: TroubleCode }) => (
  <span class={ASKED_FOR.includes(code) ? 'tag' : 'tag grave'} title={TROUBLE_HELP[code]}>
    {troubleTitle(code)}
  </span>
);

/** How a reason looks: `good` is green, `warn` amber, `grave` red. All others are grey: they are as they should be. */
const TONES: Record<string, string> = {
  ready: 'good',
  next_in_line: 'good',
  paused: 'warn',
  queue_paused: 'warn',
  group_paused: 'warn',
  max_leased_reached: 'warn',
  rate_limited: 'warn',
  jobs_dead: 'warn',
  dead: 'grave',
};

/** Why a claim gets nothing, or a job does not run. */
export const Why = ({ code, children }: { code: string } & Children) => (
  <p class={`why ${TONES[code] ?? ''}`}>
    <strong>{code.replaceAll('_', ' ')}.</strong> {children}
  </p>
);

/** A time, near: `3 min ago`. Its tooltip has the whole. */
export const When = ({ time, none = '–' }: { time: string | null | undefined; none?: string }) =>
  time ? (
    <time dateTime={time} title={`${local(time)} here, ${time}`}>
      {away(time)}
    </time>
  ) : (
    <span>{none}</span>
  );

/** Why something was not shown or done. */
export function ProblemBox({ problem }: { problem: Problem | undefined }) {
  if (!problem) return null;
  return (
    <div class="problem" role="alert">
      <strong>{problem.isOutage ? 'Unavailable' : problem.status === 403 ? 'Forbidden' : 'Failed'}</strong>{' '}
      {problem.message}
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path || '/'}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Old data stay on the screen while Dibs is away. This says that they are old. */
export const Stale = ({ problem, has }: { problem: Problem | undefined; has: boolean }) =>
  problem && has ? (
    <p class="stale" role="status">
      Not up to date: {problem.message} Retrying…
    </p>
  ) : (
    <ProblemBox problem={problem} />
  );

/** What is missing while databases are away. */
export const Away = ({ of }: { of: string[] | undefined }) =>
  of ? (
    <p class="stale" role="status">
      Without what is in {of.join(', ')}: away. <A to={link(['databases'])}>Databases</A>
    </p>
  ) : null;

/** In which database a queue is, where there are several. */
export const InDatabase = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : (
    <A to={link(['databases'])} class="quiet">
      {name}
    </A>
  );

export const Loading = () => (
  <p class="quiet" role="status">
    Loading…
  </p>
);

export const Empty = ({ children }: Children) => <p class="quiet empty">{children}</p>;

export function Field({ label, help, children }: { label: string; help?: ComponentChildren } & Children) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children.
    <label class="field">
      <span class="label">{label}</span>
      {children}
      {help && <span class="help">{help}</span>}
    </label>
  );
}

export type Fact = [string, ComponentChildren];

/** Facts, name by name. */
export const Facts = ({ of }: { of: Fact[] }) => (
  <dl class="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** Tabs that are links. */
export const Tabs = ({ of, at, label }: { of: [string, string][]; at: string; label: string }) => (
  <nav class="tabs" aria-label={label}>
    {of.map(([to, title]) => (
      <A key={to} to={to} aria-current={to === at ? 'page' : undefined}>
        {title}
      </A>
    ))}
  </nav>
);

/** The heading of a column. Numbers stand at its right. */
export const Column = ({ isNumber, children }: { isNumber?: boolean } & Children) => (
  <th scope="col" class={isNumber ? 'n' : undefined}>
    {children}
  </th>
);

interface TableProps extends Children {
  head: ComponentChildren;
  label: string;
  /** On narrow screens, the cells of a row stand below each other. */
  isStacked?: boolean;
}

/** A table that scrolls by itself on narrow screens. */
export const Table = ({ head, label, isStacked, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse must be able to scroll it.
  <section class={isStacked ? 'scroll stacked' : 'scroll'} tabIndex={0} aria-label={label}>
    <table>
      <thead>
        <tr>{head}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);

interface PagerProps {
  /** Where each page before this one led to. */
  cursors: string[];
  setCursors: (cursors: string[]) => void;
  /** Where the page after this one begins. `null`: this is the last one. */
  next: string | null;
}

export const Pager = ({ cursors, setCursors, next }: PagerProps) => (
  <div class="pager">
    <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
      Previous
    </button>
    <span class="quiet">Page {cursors.length + 1}</span>
    <button
      type="button"
      disabled={next === null}
      onClick={() => next !== null && setCursors([...cursors, next])}
    >
      Next
    </button>
  </div>
);
