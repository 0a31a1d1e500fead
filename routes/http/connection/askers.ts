import { areAskersKept, runFor } from '../../../src/askers.ts';
import { idsOf, traceIn } from '../../../src/traceparent.ts';
import type { App } from './fastify.ts';

/** Lets traces and the log know for which request a verb runs, if one of them wants to know. */
export function tellAskers(app: App): void {
  if (!areAskersKept()) return;
  // After the body is read: it arrives in events of the connection, which know nothing of the request.
  app.addHook('preHandler', ({ id, headers }, _, done) => {
    const traceId = idsOf(headers.traceparent)?.traceId;
    runFor([{ reqId: id, trace: traceIn(headers), traceId }], done);
  });
}
