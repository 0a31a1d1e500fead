// Runs before a replica, and takes out what notes requests, statements and traces: the other side of bench/overhead.mjs.
import { register } from 'node:module';

const hooks = `
const STUBS = {
  '/dist/src/askers.js': \`
    const NOBODY = [];
    export const keepAskers = () => undefined;
    export const areAskersKept = () => false;
    export const askers = () => NOBODY;
    export const runFor = (who, run) => run();
    export const runForAll = (shared, run) => run();\`,
  '/dist/src/postgres/trip.js': \`
    const nothing = () => undefined;
    const NOTES = { connected: nothing, isTimed: () => false, ran: nothing, committed: nothing, end: nothing };
    export const watchTrip = () => NOTES;\`,
  '/dist/src/traceparent.js': \`
    const nothing = () => undefined;
    export { nothing as idsOf, nothing as traceIn, nothing as traceInText };
    export const namesTrace = () => false;
    export const headersWith = (headers) => JSON.stringify(headers);\`,
};
export async function load(url, context, next) {
  const stub = Object.entries(STUBS).find(([end]) => url.endsWith(end));
  return stub ? { format: 'module', source: stub[1], shortCircuit: true } : next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
