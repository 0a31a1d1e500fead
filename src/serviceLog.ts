import type { Logger } from 'pino';
import type { RefusedCredential, RequestIds } from './access/access.ts';
import { createRefusedLog } from './access/refusedLog.ts';
import { isOutage } from './errors.ts';
import { createOutageLog, NOTIFICATIONS, statesOf } from './postgres/outageLog.ts';
import { createSlowLog } from './postgres/slowLog.ts';
import { createRareLog } from './rareLog.ts';

/*
 * Who logs what, at which level:
 *
 *   error  A person must act: something is wrong, and stays wrong.
 *   warn   Dibs serves worse, or not at all, and goes on by itself when the reason is gone.
 *   info   What happens in normal times: starts, acts of admins, refused credentials, the access log.
 *   debug  Each call of a verb.
 *
 * A line about a request has its reqId, and the traceId of its traceparent.
 */

interface Failure {
  error: unknown;
  message: string;
}

/** The parts of the log of a service. `slowMs` 0: no round trip is slow. */
export function createServiceLog(logger: Logger, { slowMs }: { slowMs: number }) {
  const warn = (fields: object, message: string) => logger.warn(fields, message);
  const info = (fields: object, message: string) => logger.info(fields, message);
  const states = { warn: (line: string) => logger.warn(line), info: (line: string) => logger.info(line) };
  const failures = createRareLog<Failure>(
    ({ error, message }) => `${message}: ${(error as Error)?.message}`,
    ({ error, message }, times) => logger.error({ err: error, times }, message),
  );
  const refusedTokens = createRareLog<{ why: string; ids: RequestIds | undefined }>(
    ({ why }) => why,
    ({ why, ids }, times) => logger.info({ times, ...ids }, why),
  );
  const refused: (why: RefusedCredential) => void = createRefusedLog(info);

  return {
    warn,
    refused,
    outages: createOutageLog(states),
    outagesOf: (name: string) => createOutageLog(states, statesOf(name)),
    listenState: createOutageLog(states, NOTIFICATIONS),
    slow: slowMs > 0 ? createSlowLog(slowMs, warn) : undefined,
    call: logger.isLevelEnabled('debug')
      ? (fields: object, message: string) => logger.debug(fields, message)
      : undefined,

    /** The log of outages says why, once. What fails by an outage is noted only for those who look closely. */
    failed(error: unknown, message: string): void {
      if (isOutage(error)) logger.debug(message);
      else failures({ error, message });
    },

    refusedToken: (why: string, ids?: RequestIds) => refusedTokens({ why, ids }),

    /** The audit has names of its own for what the log calls reqId and traceId. */
    act({ request_id, trace_id, ...fields }: Record<string, unknown>, message: string): void {
      logger.info({ ...fields, reqId: request_id, traceId: trace_id }, message);
    },
  };
}
