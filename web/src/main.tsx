import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, get, keyStore, may, onUnauthorized, type Problem } from './api.ts';
import { KEYS, listenToKeys } from './keys.ts';
import { live, usePoll } from './poll.ts';
import { useRoute } from './route.ts';
import { askForBefore, forgetSamples, isBehind, note } from './samples.ts';
import { AuditScreen } from './screens/audit.tsx';
import { JobScreen } from './screens/job.tsx';
import { JobsScreen } from './screens/jobs.tsx';
import { KeysScreen } from './screens/keys.tsx';
import { OperationScreen, OperationsScreen } from './screens/operations.tsx';
import { QueueScreen } from './screens/queue.tsx';
import { QueuesScreen } from './screens/queues.tsx';
import { SchedulesScreen } from './screens/schedules.tsx';
import { WorkersScreen } from './screens/workers.tsx';
import './style.css';
import { Dialog, useAct } from './dialogs.tsx';
import type { Caller, Overview } from './types.ts';
import { A, Empty, Field, ProblemBox } from './ui.tsx';

const EVERY_MS = 2000;

/** Asks for the key. It is kept in this tab only. The one before is kept until another is good. */
function KeyForm({
  why,
  entered,
  leave,
}: {
  why: Problem | undefined;
  /** Another key is in use, or none. */
  entered: () => void;
  /** Undefined when there is nothing to go back to. */
  leave: (() => void) | undefined;
}) {
  const [key, setKey] = useState('');
  const { act, isBusy, problem, setProblem } = useAct();
  const said = problem ?? why;
  return (
    <main class="enter">
      <h1>Dibs</h1>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          const isIn = await act(async () => {
            const before = keyStore.get();
            keyStore.set(key.trim());
            await call('GET', 'overview?limit=1').catch((error: Problem) => {
              // A key without the scope `read` is good, and yet no use here.
              if (error.status !== 0 && before !== undefined) keyStore.set(before);
              else if (error.status !== 0) keyStore.forget();
              throw error;
            });
          });
          if (isIn) entered();
        }}
      >
        <Field
          label="Access key"
          help="Kept in this tab only, until you close it. The key needs the scope read."
        >
          <input
            type="password"
            value={key}
            autocomplete="off"
            onInput={(event) => {
              setProblem(undefined);
              setKey(event.currentTarget.value);
            }}
          />
        </Field>
        {said?.status === 401 ? (
          <div class="problem" role="alert">
            This access key is not valid: it was mistyped, was revoked, or has expired.
          </div>
        ) : (
          <ProblemBox problem={said} />
        )}
        <footer>
          {leave && (
            <button type="button" onClick={leave}>
              Back
            </button>
          )}
          {leave && keyStore.get() !== undefined && (
            <button
              type="button"
              onClick={() => {
                keyStore.forget();
                entered();
              }}
            >
              Sign out
            </button>
          )}
          <button type="submit" class="main" disabled={isBusy || key.trim() === ''}>
            {isBusy ? 'Signing in…' : 'Sign in'}
          </button>
        </footer>
      </form>
    </main>
  );
}

const Help = ({ close }: { close: () => void }) => (
  <Dialog title="Keyboard shortcuts" close={close}>
    <table class="keys">
      <tbody>
        {KEYS.map(([key, does]) => (
          <tr key={key}>
            <th scope="row">
              <kbd>{key}</kbd>
            </th>
            <td>{does}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Dialog>
);

function Header({
  at,
  caller,
  version,
  changeKey,
}: {
  at: string;
  caller: Caller | undefined;
  version: string;
  changeKey: () => void;
}) {
  const [isLive, setLive] = useState(live.is());
  const isAdmin = may(caller, 'admin');
  const places: [string, string, string][] = [
    ['#/', 'Queues', 'queues'],
    ['#/jobs', 'Jobs', 'jobs'],
    ['#/workers', 'Workers', 'workers'],
    ['#/schedules', 'Schedules', 'schedules'],
    ['#/operations', 'Operations', 'operations'],
    ...(isAdmin
      ? ([
          ['#/keys', 'Keys', 'keys'],
          ['#/audit', 'Audit', 'audit'],
        ] as [string, string, string][])
      : []),
  ];
  return (
    <header class="top">
      <A to="#/" class="brand">
        Dibs
      </A>
      <nav aria-label="Screens">
        {places.map(([to, title, place]) => (
          <A key={to} to={to} aria-current={place === at ? 'page' : undefined}>
            {title}
          </A>
        ))}
        <a href="docs">API</a>
      </nav>
      <div class="who">
        <label class="live">
          <input
            type="checkbox"
            checked={isLive}
            onChange={(event) => {
              live.set(event.currentTarget.checked);
              setLive(event.currentTarget.checked);
            }}
          />{' '}
          live
        </label>
        {caller?.needs_key ? (
          <span
            title={`Scopes: ${caller.scopes.join(', ')}. Queues: ${caller.queues.join(', ')}. Dibs ${version}`}
          >
            {caller.name}
          </span>
        ) : (
          <span class="quiet">{version && `Dibs ${version}`}</span>
        )}
        <button type="button" class="small" onClick={changeKey}>
          Change key
        </button>
      </div>
    </header>
  );
}

function Screen({
  parts,
  parameters,
  overview,
  problem,
  reload,
}: {
  parts: string[];
  parameters: URLSearchParams;
  overview: Overview | undefined;
  problem: Problem | undefined;
  reload: () => void;
}) {
  const [kind = 'queues', name, tab = ''] = parts;
  const caller = overview?.caller;
  if (kind === 'queues' && name !== undefined)
    return <QueueScreen key={name} name={name} tab={tab} parameters={parameters} caller={caller} />;
  if (kind === 'queues')
    return <QueuesScreen overview={overview} problem={problem} parameters={parameters} reload={reload} />;
  if (kind === 'jobs' && name !== undefined)
    return <JobScreen key={name} id={name} caller={caller} traceUrl={overview?.trace_url ?? undefined} />;
  if (kind === 'jobs') return <JobsScreen parameters={parameters} caller={caller} />;
  if (kind === 'workers') return <WorkersScreen />;
  if (kind === 'schedules') return <SchedulesScreen open={name} caller={caller} />;
  if (kind === 'operations' && name !== undefined)
    return <OperationScreen key={name} id={name} caller={caller} />;
  if (kind === 'operations') return <OperationsScreen />;
  if (kind === 'keys') return <KeysScreen caller={caller} />;
  if (kind === 'audit') return <AuditScreen parameters={parameters} caller={caller} />;
  return (
    <main>
      <h1>Page not found</h1>
      <Empty>
        There is no page at this address. <A to="#/">All queues</A>
      </Empty>
    </main>
  );
}

function App() {
  const { parts, parameters } = useRoute();
  const [refused, setRefused] = useState<Problem>();
  const [isHelp, setHelp] = useState(false);
  const [isChangingKey, setChangingKey] = useState(false);
  /** Grows with each key that is entered or forgotten. */
  const [turn, setTurn] = useState(0);
  /** The turn whose charts have the time before it. */
  const hasBefore = useRef(-1);
  useEffect(() => onUnauthorized((problem) => setRefused(problem)), []);
  useEffect(() => listenToKeys(() => setHelp(true)), []);
  const isFront = parts.length === 0;
  const {
    data: overview,
    problem,
    reload,
  } = usePoll(
    `overview ${turn}`,
    async () => {
      if (refused) throw refused;
      if (isBehind()) {
        forgetSamples();
        hasBefore.current = -1;
      }
      const [{ body }] = await Promise.all([
        get<Overview>('overview?limit=100'),
        hasBefore.current === turn ? undefined : askForBefore(),
      ]);
      hasBefore.current = turn;
      note(body);
      return body;
    },
    isFront ? EVERY_MS : 5 * EVERY_MS,
  );
  const again = () => {
    forgetSamples();
    setRefused(undefined);
    setChangingKey(false);
    setTurn((n) => n + 1);
  };
  const place = parts[0] ?? 'queues';
  useEffect(() => {
    document.title = ['Dibs', ...parts.slice(0, 2)].reverse().join(' · ');
  });
  if (refused || isChangingKey) {
    // Who has no key yet made no mistake.
    const isFirst = keyStore.get() === undefined;
    return (
      <KeyForm
        why={isFirst ? undefined : refused}
        entered={again}
        leave={isChangingKey ? again : undefined}
      />
    );
  }
  return (
    <>
      <Header
        at={place}
        caller={overview?.caller}
        version={overview?.version ?? ''}
        changeKey={() => setChangingKey(true)}
      />
      {problem?.status === 403 && !overview ? (
        <main>
          <h1>Dibs</h1>
          <ProblemBox problem={problem} />
        </main>
      ) : (
        <Screen
          key={turn}
          parts={parts}
          parameters={parameters}
          overview={overview}
          problem={problem}
          reload={() => void reload()}
        />
      )}
      {isHelp && <Help close={() => setHelp(false)} />}
    </>
  );
}

render(<App />, document.getElementById('app') as HTMLElement);
