import { part } from '../../api.ts';
import { Do } from '../../dialogs.tsx';
import type { Queue } from '../../types.ts';

/** So many stand on the page. */
const SHOWN = 20;

/** The groups of a queue that are paused by themselves. */
export function PausedGroups({
  queue,
  reload,
  isAllowed,
}: {
  queue: Queue;
  reload: () => void;
  isAllowed: boolean;
}) {
  const groups = queue.paused_groups ?? [];
  if (groups.length === 0) return null;
  return (
    <section aria-label="Paused groups">
      <h2>Paused groups</h2>
      <ul>
        {groups.slice(0, SHOWN).map((group) => (
          <li key={group}>
            <code>{group}</code>{' '}
            {isAllowed && (
              <Do
                asks={{ method: 'POST', path: `queues/${part(queue.name)}/groups/${part(group)}/resume` }}
                done={reload}
              >
                Resume the group
              </Do>
            )}
          </li>
        ))}
      </ul>
      {groups.length > SHOWN && <p class="quiet">And {groups.length - SHOWN} more.</p>}
    </section>
  );
}
