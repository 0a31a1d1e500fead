import { createRareLog } from '../rareLog.ts';
import type { RefusedCredential } from './access.ts';

/** Logs why credentials are refused. */
export const createRefusedLog = (log: (fields: object, message: string) => void) =>
  createRareLog<RefusedCredential>(
    ({ reason }) => reason,
    (why, times) => log({ ...why, times }, 'refused a credential'),
  );
