// Generated from src/jobFields.ts by "npm run generate".

import type { Job } from '../../../src/job.ts';
import { plain, text } from './texts.ts';

/** The fields of a job, in the order of its schema. `payload` and `lease` are texts of members that not all jobs have. */
export const jobFieldsJson = (job: Job, payload: string, lease: string): string =>
  `"id":"${job.id}"` +
  `,"queue":"${job.queue}"` +
  `,"state":"${job.state}"${payload}` +
  `,"headers":${job.headers}` +
  `,"priority":${job.priority}` +
  `,"attempt":${job.attempt}` +
  `,"max_attempts":${job.max_attempts}` +
  `,"deliveries":${job.deliveries}` +
  `,"group":${text(job.group)}` +
  `,"fairness_key":${text(job.fairness_key)}` +
  `,"unique_key":${text(job.unique_key)}` +
  `,"batch":${plain(job.batch)}` +
  `,"run_at":"${job.run_at}"` +
  `,"created_at":"${job.created_at}"` +
  `,"lease_expires_at":${plain(job.lease_expires_at)}${lease}` +
  `,"worker":${text(job.worker)}` +
  `,"last_error":${text(job.last_error)}` +
  `,"progress":${job.progress}` +
  `,"result":${job.result}` +
  `,"finished_at":${plain(job.finished_at)}`;
