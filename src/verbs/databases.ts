import type { JobState } from '../job.ts';
import type { Looks, Narrowed } from './callers.ts';

/** The name of a database. */
export const DATABASE_NAME = '^[a-z0-9_]{1,32}$';

/** `open`: new queues go there. `closed`: none do, unless a request chooses it. `away`: it does not answer. */
export const DATABASE_STATES = ['open', 'closed', 'away'] as const;
export type DatabaseState = (typeof DATABASE_STATES)[number];

/** A database as a caller sees it: with the queues that it may see, and their jobs. */
export interface DatabaseStatus {
  name: string;
  state: DatabaseState;
  /** How many queues it has. Left out while it is away. */
  queues?: number;
  /** Their jobs, as the metrics count them. Left out while it is away, and until every queue was counted once. */
  counts?: Record<JobState, number>;
}

/** An answer that was merged of several databases. Left out where none is away. */
export interface PartlyAway {
  /** The databases that are away: the answer is without what they have. */
  away?: string[];
}

/** The PostgreSQLs behind this Dibs: one, unless there are several. Each throws `unavailable`. */
export interface DatabaseVerbs {
  /** All databases: `home` first, the others by name. */
  listDatabases(request: Narrowed & Looks): Promise<DatabaseStatus[]>;

  /**
   * Says whether new queues go to a database. Queues that are there stay, and go on. The only database cannot be closed.
   * @throws Refusal `database_not_found`, `invalid_request`
   */
  configureDatabase(request: { name: string; accepts_queues: boolean }): Promise<DatabaseStatus>;
}
