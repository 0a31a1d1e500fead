import type { Scope } from '../caller.ts';
import type { JobState } from '../job.ts';
import type { Looks } from './callers.ts';

/** A key as its administrators see it. */
export interface KeyInfo {
  id: string;
  name: string;
  scopes: Scope[];
  queues: string[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  old_key_expires_at: string | null;
}

/** A key that was just made. Only its maker sees `key`. */
export interface MadeKey extends KeyInfo {
  key: string;
}

export interface NewKey {
  name: string;
  scopes: Scope[];
  /** Queue patterns. All queues, if they are left out. */
  queues?: string[] | undefined;
  expires_at?: string | undefined;
  /** Not beside `expires_at`. */
  expires_in_seconds?: number | undefined;
}

export const MOST_QUEUE_PATTERNS = 64;
/** For how long the old key goes on after a rotation that says nothing of it: whoever has it finds the new one meanwhile. */
export const KEY_OVERLAP_SECONDS = 3600;
/** 1 to 128 printable characters of ASCII, none of them a space at either end. */
export const KEY_NAME = '^[!-~]([ -~]{0,126}[!-~])?$';

/** Where a request came from. */
export interface Origin {
  address: string | null;
  request_id: string | null;
}

/** The same, and which trace it belongs to. The log tells the trace, the table does not. */
export interface TracedOrigin extends Origin {
  trace_id?: string | undefined;
}

/** What an act was about or how it was done, as far as `AuditRow` has no field of its own. Names, ids, numbers and choices. */
export interface AuditDetails {
  batch_id?: string | undefined;
  group?: string | undefined;
  operation_id?: string | undefined;
  /** The verb of an operation. */
  operation?: string | undefined;
  /** Where an operation moves jobs. */
  to?: string | undefined;
  dry_run?: boolean | undefined;
  /** A redrive sent dead letters back. */
  home?: boolean | undefined;
  /** A queue was deleted with its jobs. */
  force?: boolean | undefined;
  /** Jobs of which states were purged. */
  states?: JobState[] | undefined;
}

/** An act with the scope `admin`: who, what, where, how many. */
export interface AuditRow extends Origin {
  id: string;
  created_at: string;
  actor: string;
  actor_id: string | null;
  verb: string;
  queue: string | null;
  job_id: string | null;
  schedule: string | null;
  key_id: string | null;
  database: string | null;
  count: number | null;
  outcome: string;
  details: AuditDetails;
}

export interface AuditFilter extends Looks {
  limit: number;
  /** The last id of the page before. */
  after?: string | undefined;
  actor?: string | undefined;
  verb?: string | undefined;
  queue?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** Who may do what, and who did it. Each throws `unavailable`, those about one key `key_not_found`. */
export interface KeyVerbs {
  /** A page of keys, oldest first, after the key `after`. */
  listKeys(request: { limit: number; after?: string | undefined } & Looks): Promise<KeyInfo[]>;

  /** @throws Refusal `invalid_request`, `key_name_taken`, `too_many_keys` */
  createKey(request: NewKey): Promise<MadeKey>;

  /** From now on the key is refused here, and everywhere within a second. A key that is revoked already stays so. */
  revokeKey(request: { id: string }): Promise<void>;

  /** Makes a new secret in place of an old one, which goes on for the overlap. */
  rotateKey(request: { id: string; overlap_seconds?: number | undefined }): Promise<MadeKey>;

  /**
   * A page of audit rows, newest first. A page shorter than its limit is the last one. @throws Refusal
   * `invalid_request`
   */
  listAudit(request: AuditFilter): Promise<AuditRow[]>;
}
