import { createHash } from 'node:crypto';
import { PAGE_LIMIT } from '../../schemas/common.ts';
import { invalidPart } from './invalidPart.ts';

/** A list and its filters. A cursor is valid only for the list that it was made for. */
type Listing = { of: string } & Record<string, string | undefined>;

const digest = (listing: Listing) =>
  createHash('sha256').update(JSON.stringify(listing)).digest('base64url').slice(0, 8);

/** A cursor names the list and the key of the last item of a page. */
const writeCursor = (listing: Listing, last: string) =>
  Buffer.from(`${digest(listing)} ${last}`).toString('base64url');

/** The key in a cursor. @throws Refusal `invalid_request` for a cursor of another list, or not made by Dibs */
function readCursor(listing: Listing, cursor: string, isKey: (text: string) => boolean): string {
  const [of, last = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  if (of !== digest(listing) || !isKey(last))
    throw invalidPart([
      {
        in: 'query',
        path: '/cursor',
        message: 'must be a next_cursor of the same list with the same filters',
      },
    ]);
  return last;
}

/** One page of a list: the items after the cursor, and the cursor of the next page, null on the last. */
export async function pageOf<Item>(
  listing: Listing,
  { limit = PAGE_LIMIT, cursor }: { limit?: number; cursor?: string },
  {
    list,
    keyOf,
    isKey,
  }: {
    /**
     * `isCut`: the page is full before its limit, and more items follow. `stoppedAt`: the search ended at this key. More items may
     * follow it. `away`: the databases that it is without.
     */
    list: (
      limit: number,
      after: string | undefined,
    ) => Promise<{
      items: Item[];
      isCut?: boolean;
      stoppedAt?: string | undefined;
      away?: string[] | undefined;
    }>;
    /** What the list is ordered by. */
    keyOf: (item: Item) => string;
    isKey: (text: string) => boolean;
  },
): Promise<{ items: Item[]; next: string | null; away: string[] | undefined }> {
  const after = cursor === undefined ? undefined : readCursor(listing, cursor, isKey);
  // One more than the page has: it tells whether another page follows.
  const { items: found, isCut = false, stoppedAt, away } = await list(limit + 1, after);
  const items = found.slice(0, limit);
  const last = isCut || found.length > limit ? keyOf(items.at(-1) as Item) : stoppedAt;
  const next = last === undefined ? null : writeCursor(listing, last);
  return { items, next, away };
}
