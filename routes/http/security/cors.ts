import type { App } from '../connection/fastify.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Prefer',
  'traceparent',
  'X-Request-Id',
];

/** A page reads these headers of an answer, besides those that the browser shows it anyway. */
const ANSWER_HEADERS = [
  'Allow',
  'Idempotent-Replayed',
  'Location',
  'Preference-Applied',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
];

const PREFLIGHT_SECONDS = 600;

/**
 * Lets the pages of these origins read answers (CORS, in the Fetch standard), and answers their preflights, which never
 * bring a key. `*` means the pages of all sites. Other requests stay as they are: an OPTIONS is 405.
 */
export async function allowOrigins(app: App, origins: string[]): Promise<void> {
  if (origins.length === 0) return;
  const { default: cors } = await import('@fastify/cors');
  const isAnyAllowed = origins.includes('*');
  await app.register(cors, {
    origin: (origin, answer) => {
      if (origin === undefined) answer(null, false);
      else answer(null, isAnyAllowed ? '*' : origins.includes(origin));
    },
    methods: METHODS,
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: ANSWER_HEADERS,
    // A page shows its key in a header. Dibs neither sends nor reads cookies.
    credentials: false,
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  });
}
