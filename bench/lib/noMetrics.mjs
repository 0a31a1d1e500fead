// Runs before a replica, and takes what counts out of it: the other side of bench/overhead.mjs.
import { register } from 'node:module';

const hooks = `
const STUBS = {
  '/dist/src/metrics/tally.js': \`
    export const EVENTS = ['enqueued', 'deduplicated', 'claimed', 'acked', 'nacked', 'released', 'rescued', 'expired', 'dead'];
    const nothing = () => undefined;
    export const createTally = () => ({
      enqueued: nothing, claimed: nothing, acked: nothing, nacked: nothing, released: nothing, rescued: nothing,
      expired: nothing, roundTrip: nothing, tripRows: { bounds: [], counts: [], sum: 0 }, own: new Map(), rest: undefined,
      keepTimesOf: nothing, take: () => new Map(), hasCounts: () => false, putBack: nothing,
    });\`,
  '/dist/routes/http/answers/requestCounts.js': \`
    export function countRequests(app) {
      app.decorate('requestCounts', { refused: () => undefined, families: () => [] });
    }\`,
};
export async function load(url, context, next) {
  const stub = Object.entries(STUBS).find(([end]) => url.endsWith(end));
  return stub ? { format: 'module', source: stub[1], shortCircuit: true } : next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
