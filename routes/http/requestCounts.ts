import type { FastifyRequest } from 'fastify';
import type { RefusalCode } from '../../src/errors.ts';
import { type Family, family, histograms } from '../../src/metrics/family.ts';
import { Histogram } from '../../src/metrics/histogram.ts';
import type { App } from './fastify.ts';

declare module 'fastify' {
  interface FastifyInstance {
    requestCounts: RequestCounts;
  }
  interface FastifyRequest {
    /** When the request began, on the clock of this process. */
    began: number;
  }
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5, 30];

/** For requests that no route takes. */
const NO_ROUTE = '(none)';

interface RouteCounts {
  statuses: Map<number, number>;
  seconds: Histogram;
}

const SUM = 'Sum over replicas.';

/** Counts the answers of an app by route and status, and its refusals by code. */
export function createRequestCounts() {
  const routes = new Map<string, RouteCounts>();
  const refusals = new Map<RefusalCode, number>();

  function ofRoute(name: string): RouteCounts {
    let found = routes.get(name);
    if (!found) {
      found = { statuses: new Map(), seconds: new Histogram(SECONDS) };
      routes.set(name, found);
    }
    return found;
  }

  return {
    answered({ route, began }: FastifyRequest, status: number): void {
      const { statuses, seconds } = ofRoute(route?.pattern ?? NO_ROUTE);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      seconds.observe((performance.now() - began) / 1000);
    },

    refused(code: RefusalCode): void {
      refusals.set(code, (refusals.get(code) ?? 0) + 1);
    },

    families: (): Family[] => [
      family(
        'counter',
        'dibs_refusals_total',
        `Requests, and items of POST /jobs/settle, that were refused, by code. ${SUM}`,
        [...refusals].map(([code, n]) => [n, { code }]),
      ),
      family(
        'counter',
        'dibs_http_requests_total',
        `Requests that were answered, by route and status. ${SUM}`,
        [...routes].flatMap(([route, { statuses }]) =>
          [...statuses].map(([status, n]) => [n, { route, status: String(status) }] as const),
        ),
      ),
      histograms(
        'dibs_http_request_seconds',
        `From the head of a request to its answer. The time that a client asked to wait is part of it. ${SUM}`,
        [...routes].map(([route, { seconds }]) => [seconds, { route }]),
      ),
    ],
  };
}

export type RequestCounts = ReturnType<typeof createRequestCounts>;

/** Counts each answer. It listens to no event, because that costs more than all the rest. */
export function countRequests(app: App): void {
  const counts = createRequestCounts();
  app.decorate('requestCounts', counts);
  app.decorateRequest('began', 0);
  app.addHook('onRequest', (request, _, done) => {
    request.began = performance.now();
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    counts.answered(request, reply.statusCode);
    done(null, payload);
  });
}
