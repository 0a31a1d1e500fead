import { family, labelled } from '../../../src/metrics/family.ts';
import type { Family } from '../../../src/verbs/counting.ts';
import type { App } from '../connection/fastify.ts';
import type { ProblemCode } from './httpRefusal.ts';
import { PROBLEM_CODES } from './problems.ts';

declare module 'fastify' {
  interface FastifyInstance {
    requestCounts: RequestCounts;
  }
}

/** For requests that no route takes. */
const NO_ROUTE = '(none)';

/** How many answers had each status. */
type Statuses = Map<number, number>;

const SUM = 'Sum over replicas.';

/** Counts the answers of an app by route and status, and its refusals by code. */
export function createRequestCounts() {
  const routes = new Map<string, Statuses>();
  // From 0 on: Prometheus sees no rise in a series that begins with its first refusal.
  const refusals = new Map<ProblemCode, number>(PROBLEM_CODES.map((code) => [code, 0]));

  return {
    answered(route: string = NO_ROUTE, status: number): void {
      let statuses = routes.get(route);
      if (!statuses) {
        statuses = new Map();
        routes.set(route, statuses);
      }
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    },

    refused(code: ProblemCode): void {
      refusals.set(code, (refusals.get(code) ?? 0) + 1);
    },

    families: (): Family[] => [
      family(
        'counter',
        'dibs_refusals_total',
        `Requests, and items of POST /jobs/settle, that were refused, by code. ${SUM}`,
        [...refusals].map(([code, n]) => [n, labelled({ code })]),
      ),
      family(
        'counter',
        'dibs_http_requests_total',
        `Requests that were answered, by route and status. ${SUM}`,
        [...routes].flatMap(([route, statuses]) =>
          [...statuses].map(([status, n]) => [n, labelled({ route, status: String(status) })] as const),
        ),
      ),
    ],
  };
}

export type RequestCounts = ReturnType<typeof createRequestCounts>;

/** Counts each answer. It listens to no event, because that costs more than all the rest. */
export function countRequests(app: App): void {
  const counts = createRequestCounts();
  app.decorate('requestCounts', counts);
  app.addHook('onSend', (request, reply, payload, done) => {
    counts.answered(request.route?.pattern, reply.statusCode);
    done(null, payload);
  });
}
