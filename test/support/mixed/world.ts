import type { Cluster } from './calls.ts';
import type { Record } from './record.ts';

/** What the actors of the mixed workload share. */
export interface World {
  cluster: Cluster;
  record: Record;
  databaseUrl: string;
  stopping(): boolean;
}
