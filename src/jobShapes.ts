// Generated from src/jobFields.ts by "npm run generate".

/** What all statements that answer jobs return. */
export interface AlwaysRead {
  id: string;
  priority: number;
  attempt: number;
  max_attempts: number;
  deliveries: number;
  run_at: string;
  created_at: string;
  group: string | null;
  fairness_key: string | null;
  unique_key: string | null;
  batch: string | null;
  lease_expires_at: string | null;
  worker: string | null;
  last_error: string | null;
  headers: string;
  progress: string | null;
}

/** What few requests say of a new job. */
export interface AskedRare {
  backoff?: object;
  unique_key?: string;
  unique_for_seconds?: number;
  group?: string;
  fairness_key?: string;
  expires_in_seconds?: number;
}

/** The same, as it goes into the database. */
export interface RareFields {
  backoff: string | null;
  unique_key: string | null;
  unique_for_seconds: number | null;
  group: string | null;
  fairness_key: string | null;
  expires_in_seconds: number | null;
}

/** What a change sets as it is sent. */
export interface AskedChange {
  priority?: number;
  max_attempts?: number;
  headers?: object;
}

/** The same, as it goes into the database. */
export interface ChangedParameters {
  priority: number | null;
  max_attempts: number | null;
  headers: string | null;
}
