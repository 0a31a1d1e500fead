import { createHash } from 'node:crypto';
import { invalidRequest } from '../../src/errors.ts';

const digest = (listing: object) =>
  createHash('sha256').update(JSON.stringify(listing)).digest('base64url').slice(0, 8);

/** A cursor says where a page ended, and belongs to the listing whose filters it was made with. */
export function writeCursor(listing: object, last: string): string {
  return Buffer.from(`${digest(listing)} ${last}`).toString('base64url');
}

/** Where the page before ended. @throws Refusal `invalid_request` for a cursor of another listing, or none of ours. */
export function readCursor(listing: object, cursor: string, isLast: (last: string) => boolean): string {
  const [of, last = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  if (of !== digest(listing) || !isLast(last))
    throw invalidRequest([
      { in: 'query', path: '/cursor', message: 'must be a next_cursor of this same listing' },
    ]);
  return last;
}
