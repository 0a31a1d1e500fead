import { readFileSync } from 'node:fs';

/** A statement of sql/. One with a name is prepared once per connection; the others are planned at each call. */
export interface Statement {
  text: string;
  name?: string;
  /** How long one without a name may run, where that is not as long as any other. */
  timeoutMs?: number;
}

/** One that is prepared. */
export interface Prepared extends Statement {
  name: string;
}

function read(name: string): string {
  return readFileSync(new URL(`../../sql/${name}.sql`, import.meta.url), 'utf8');
}

/** A statement of the hot path: prepared, so that parsing and planning are paid for once. */
export function prepared(name: string): Prepared {
  return { name, text: read(name) };
}

/** A statement whose best plan depends on its parameters, or that is rare. */
export function planned(name: string): Statement {
  return { text: read(name) };
}
