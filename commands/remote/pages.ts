import type { Command } from 'commander';
import { ConnectionError } from '../../clients/typescript/src/errors.ts';
import { shown } from '../shown.ts';
import { number } from './cli.ts';
import type { Answer, Session } from './session.ts';
import { type Cell, table } from './table.ts';

export interface PageOptions {
  limit: number;
  cursor?: string;
  all?: boolean;
}

export const withPages = (command: Command): Command =>
  command
    .option('--limit <n>', 'page size', number(1, 1000), 50)
    .option('--cursor <cursor>', 'the page at this cursor')
    .option('--all', 'all pages; with --json each page is a line');

/** How people see a page. */
interface PageTable<Page> {
  headings: string[];
  rows(page: Page): Cell[][];
  /** What to say when nothing is on it. */
  none: string;
}

/** How many items a page has: each has one list. */
const sizeOf = (page: object) => Object.values(page).find(Array.isArray)?.length ?? 0;

/** @throws ConnectionError for what is no page of Dibs */
export function checkPage(page: { next_cursor: string | null }): void {
  if (page.next_cursor === undefined || !Object.values(page).some(Array.isArray))
    throw new ConnectionError('the answer is no page of a list as Dibs gives them');
}

/** Shows a page of a list, or all of them, and returns how many items. A search may find nothing in its time, and then goes on. */
export async function showPages<Page extends { next_cursor: string | null }>(
  session: Session,
  options: PageOptions,
  read: (page: { limit: number; cursor?: string }) => Promise<Answer<Page>>,
  { headings, rows, none }: PageTable<Page>,
): Promise<number> {
  const forPeople = (page: Page) =>
    sizeOf(page) === 0
      ? shown`${none}\n`
      : table(headings, rows(page), session.terminal.stdout, session.paint);
  const limit = options.all ? 1000 : options.limit;
  let cursor = options.cursor;
  let hasShown = false;
  let items = 0;
  for (;;) {
    const answer = await read({ limit, cursor });
    checkPage(answer.value);
    const size = sizeOf(answer.value);
    cursor = answer.value.next_cursor ?? undefined;
    items += size;
    const isSearching = size === 0 && cursor !== undefined;
    // Where a page was shown before, the last one may be empty.
    const isRest = size === 0 && hasShown && !session.isJson;
    if (!isSearching && !isRest) {
      session.show(answer, forPeople);
      hasShown = true;
    }
    if (cursor === undefined) return items;
    if (isSearching) continue;
    if (!options.all) {
      if (!session.isJson) session.say(shown`There is more: add --all, or --cursor ${cursor}`);
      return items;
    }
  }
}
