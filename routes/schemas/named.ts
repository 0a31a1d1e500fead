import type { TSchema } from 'typebox';
import { Health } from '../system.ts';
import * as common from './common.ts';
import * as job from './job.ts';
import * as lease from './lease.ts';
import * as queue from './queue.ts';

/** Every schema with a name: a component of the OpenAPI document. */
export const namedSchemas = Object.values<unknown>({ ...common, ...job, ...lease, ...queue, Health }).filter(
  (value): value is TSchema => typeof value === 'object' && value !== null && '$id' in value,
);
