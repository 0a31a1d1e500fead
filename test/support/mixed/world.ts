import type { Cluster } from './calls.ts';
import type { Record } from './record.ts';

/** All actors of the mixed workload share this. */
export interface World {
  cluster: Cluster;
  record: Record;
  databaseUrl: string;
  /** The queues of that database. */
  inHome: Set<string>;
  stopping(): boolean;
}
