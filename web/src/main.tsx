import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, keyStore, onUnauthorized, type Problem } from './api.ts';
import { KEYS, listenToKeys } from './keys.ts';
import { usePoll } from './poll.ts';
import { useRoute } from './route.ts';
import { askForBefore, forgetSamples, isBehind, note } from './samples.ts';
import { AuditScreen } from './screens/audit.tsx';
import { BatchesScreen, BatchScreen } from './screens/batches.tsx';
import { DatabasesScreen } from './screens/databases.tsx';
import { JobScreen } from './screens/job.tsx';
import { JobsScreen } from './screens/jobs.tsx';
import { KeysScreen } from './screens/keys.tsx';
import { OperationScreen, OperationsScreen } from './screens/operations.tsx';
import { QueueScreen } from './screens/queue.tsx';
import { QueuesScreen } from './screens/queues.tsx';
import { SchedulesScreen } from './screens/schedules.tsx';
import { WorkersScreen } from './screens/workers.tsx';
import { showAllText } from './seen.ts';
import './style.css';
import { Dialog } from './dialogs.tsx';
import { Header } from './header.tsx';
import { KeyForm } from './keyForm.tsx';
import type { Overview } from './types.ts';
import { A, Empty, ProblemBox } from './ui.tsx';

const EVERY_MS = 2000;

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
  if (kind === 'batches' && name !== undefined)
    return <BatchScreen key={name} id={name} parameters={parameters} caller={caller} />;
  if (kind === 'batches') return <BatchesScreen parameters={parameters} />;
  if (kind === 'databases') return <DatabasesScreen caller={caller} />;
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
      <Header at={place} overview={overview} changeKey={() => setChangingKey(true)} />
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

showAllText();
render(<App />, document.getElementById('app') as HTMLElement);
