import type { NewJob } from '../enqueue/newJob.ts';
import type { Job, RawJson } from '../job.ts';
import type { Signed } from '../postgres/act.ts';
import type { Item } from './settleBatch.ts';

/** The answer to an ack. */
export interface Acked {
  id: string;
  state: 'completed';
  group?: string | null | undefined;
  /** The follow-ups that were inserted with the ack. */
  enqueued: Job[];
}

/** The answer to a nack. */
export interface Nacked extends Job {
  /** The follow-ups that were inserted with the nack. It is missing when the nack had no `enqueue`. */
  enqueued?: Job[];
}

/** The answer to an extend. */
export interface Extended {
  id: string;
  state: 'leased';
  lease_expires_at: string;
  cancel_requested: boolean;
}

export interface Ack extends Item, Signed {
  result?: RawJson;
  enqueue?: NewJob[];
}

export interface Nack extends Signed {
  id: string;
  lease_token: string;
  error?: string;
  delay_seconds?: number;
  retry?: boolean;
  enqueue?: NewJob[];
}

export interface Release extends Signed {
  id: string;
  lease_token: string;
  delay_seconds?: number;
}

export interface Extend {
  id: string;
  lease_token: string;
  lease_seconds: number;
  progress?: RawJson;
}
