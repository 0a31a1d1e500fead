import type { Command } from 'commander';
import { number } from './cli.ts';
import type { Answer, Session } from './session.ts';

export interface PageOptions {
  limit: number;
  cursor?: string;
  all?: boolean;
}

export const withPages = (command: Command): Command =>
  command
    .option('--limit <n>', 'how many a page has at most', number(1, 1000), 50)
    .option('--cursor <cursor>', 'the page that begins there')
    .option('--all', 'all pages; with --json each page is a line');

/** Shows a page of a list, or all of them. */
export async function showPages<Page extends { next_cursor: string | null }>(
  session: Session,
  options: PageOptions,
  read: (page: { limit: number; cursor?: string }) => Promise<Answer<Page>>,
  forPeople: (page: Page) => string,
): Promise<void> {
  const limit = options.all ? 1000 : options.limit;
  let cursor = options.cursor;
  for (;;) {
    const answer = await read({ limit, cursor });
    session.show(answer, forPeople);
    cursor = answer.value.next_cursor ?? undefined;
    if (cursor === undefined) return;
    if (!options.all) {
      if (!session.isJson) session.say(`There is more: add --all, or --cursor ${cursor}`);
      return;
    }
  }
}
