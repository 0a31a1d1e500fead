import type { TSchema } from 'typebox';
import * as audit from './audit.ts';
import * as batch from './batch.ts';
import * as common from './common.ts';
import * as database from './database.ts';
import * as explain from './explain.ts';
import * as health from './health.ts';
import * as history from './history.ts';
import * as job from './job.ts';
import * as key from './key.ts';
import * as lease from './lease.ts';
import * as operation from './operation.ts';
import * as overview from './overview.ts';
import * as queue from './queue.ts';
import * as schedule from './schedule.ts';
import * as session from './session.ts';

type Named = TSchema & { $id: string };

/** Every schema with a name, sorted by it: the components of the OpenAPI document. */
export const namedSchemas = Object.values<unknown>({
  ...audit,
  ...batch,
  ...common,
  ...database,
  ...explain,
  ...history,
  ...job,
  ...key,
  ...lease,
  ...operation,
  ...overview,
  ...queue,
  ...schedule,
  ...session,
  ...health,
})
  .filter((value): value is Named => typeof value === 'object' && value !== null && '$id' in value)
  .sort((a, b) => (a.$id < b.$id ? -1 : 1));
