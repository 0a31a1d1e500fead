import type { NewJob } from '../enqueue/newJob.ts';
import type { Job, RawJson } from '../job.ts';

/** What a settling call did, where its answer isn't the job. */
export interface Acked {
  id: string;
  state: 'completed';
  /** The jobs inserted with the ack. */
  enqueued: Job[];
}

/** The job, and those inserted with the nack, where any were sent with it. */
export interface Nacked extends Job {
  enqueued?: Job[];
}

export interface Extended {
  id: string;
  state: 'leased';
  lease_expires_at: string;
  cancel_requested: boolean;
}

export interface Ack {
  id: string;
  lease_token: string;
  result?: RawJson;
  enqueue?: NewJob[];
}

export interface Nack {
  id: string;
  lease_token: string;
  error?: string;
  delay_seconds?: number;
  retry?: boolean;
  enqueue?: NewJob[];
}

export interface Release {
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
