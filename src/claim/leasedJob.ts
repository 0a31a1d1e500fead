import type { Job } from '../job.ts';

export interface LeasedJob extends Job {
  payload: string;
  lease_token: string;
  lease_expires_at: string;
}
