/*
 * What the keyboard does, on every screen. Rows that can be opened have `data-row`, with a link inside.
 */

export const KEYS: [string, string][] = [
  ['/', 'Search, or the first filter'],
  ['j  k', 'Next row, previous row'],
  ['Enter', 'Open the row'],
  ['g q', 'Queues'],
  ['g j', 'Jobs'],
  ['g b', 'Batches'],
  ['g w', 'Workers'],
  ['g s', 'Schedules'],
  ['g o', 'Operations'],
  ['Esc', 'Close, or leave a field'],
  ['?', 'Keyboard shortcuts'],
];

const PLACES: Record<string, string> = {
  q: '#/',
  j: '#/jobs',
  b: '#/batches',
  w: '#/workers',
  s: '#/schedules',
  o: '#/operations',
};

const isWriting = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

function move(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.querySelector<HTMLElement>('a')?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

function search(): void {
  const field = document.querySelector<HTMLElement>('[data-search]');
  const folded = field?.closest('details');
  if (folded) folded.open = true;
  field?.focus();
}

/** Listens to the keyboard. Returns how to stop it. */
export function listenToKeys(showHelp: () => void): () => void {
  let isGoing = false;
  function pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (isWriting(event.target)) {
      if (event.key === 'Escape') (event.target as HTMLElement).blur();
      return;
    }
    const place = isGoing ? PLACES[event.key] : undefined;
    isGoing = event.key === 'g';
    if (place) location.hash = place;
    else if (event.key === 'j') move(1);
    else if (event.key === 'k') move(-1);
    else if (event.key === '?') showHelp();
    else if (event.key === '/') search();
    else return;
    event.preventDefault();
  }
  addEventListener('keydown', pressed);
  return () => removeEventListener('keydown', pressed);
}
