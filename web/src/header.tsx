import { useState } from 'preact/hooks';
import { may } from './api.ts';
import { live } from './poll.ts';
import type { Overview } from './types.ts';
import { A } from './ui.tsx';

/** A link to a part of the page would be another screen: `#` names the screen. */
function skip(): void {
  const main = document.querySelector('main');
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
}

/** The head of every screen: where one can go, and who one is. */
export function Header({
  at,
  overview,
  changeKey,
}: {
  at: string;
  overview: Overview | undefined;
  changeKey: () => void;
}) {
  const [isLive, setLive] = useState(live.is());
  const { caller, version } = overview ?? {};
  const isAdmin = may(caller, 'admin');
  const hasSeveral = overview?.away !== undefined || overview?.queues.some(({ database }) => database);
  const places: [string, string, string][] = [
    ['#/', 'Queues', 'queues'],
    ['#/jobs', 'Jobs', 'jobs'],
    ['#/batches', 'Batches', 'batches'],
    ['#/workers', 'Workers', 'workers'],
    ['#/schedules', 'Schedules', 'schedules'],
    ['#/operations', 'Operations', 'operations'],
    ...(hasSeveral ? ([['#/databases', 'Databases', 'databases']] as [string, string, string][]) : []),
    ...(isAdmin
      ? ([
          ['#/keys', 'Keys', 'keys'],
          ['#/audit', 'Audit', 'audit'],
        ] as [string, string, string][])
      : []),
  ];
  return (
    <header class="top">
      <button type="button" class="skip" onClick={skip}>
        Skip to content
      </button>
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
