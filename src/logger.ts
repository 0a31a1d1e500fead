import { type DestinationStream, type Logger, pino } from 'pino';

/*
 * What of an error goes into the log. PostgreSQL quotes rows and parameters in `detail`, `where`, `hint` and
 * `internalQuery`, and in some messages. Errors of URLs and of JSON quote their input. So only what is named here is logged.
 */

/** They name objects of the schema and places in code. */
const SAFE = [
  'code',
  'errno',
  'syscall',
  'address',
  'port',
  'hostname',
  'severity',
  'routine',
  'schema',
  'table',
  'column',
  'constraint',
  'dataType',
] as const;

/** PostgreSQL quotes values in messages of class 22 (data exceptions). What RAISE says (P0), nobody knows. */
const QUOTING = /^(22|P0)/;

const MOST_CAUSES = 5;

type Fields = Record<string, unknown>;

const isFromServer = (error: Fields) => typeof error.severity === 'string' && typeof error.code === 'string';

function messageOf(error: Error & Fields): string {
  const quotes = isFromServer(error) ? QUOTING.test(error.code as string) : error instanceof SyntaxError;
  return quotes ? '(not logged: it may quote data)' : error.message;
}

/** The lines of a stack that say where. The message stands before them, and may have lines that look the same. */
function framesOf({ stack = '', message }: Error): string {
  const at = stack.indexOf(message);
  return at < 0 ? '' : stack.slice(at + message.length);
}

/** An error as it is logged. */
export function loggable(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : typeof error;
  const fields = error as Error & Fields;
  const shown: Fields = { type: error.name, message: messageOf(fields) };
  for (const name of SAFE) if (fields[name] !== undefined) shown[name] = fields[name];
  shown.stack = `${error.name}: ${shown.message}${framesOf(error)}`;
  if (depth >= MOST_CAUSES) return shown;
  if (error.cause !== undefined) shown.cause = loggable(error.cause, depth + 1);
  if (error instanceof AggregateError)
    shown.errors = error.errors.slice(0, MOST_CAUSES).map((one) => loggable(one, depth + 1));
  return shown;
}

/** The log of the service: JSON lines. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, serializers: { err: (error: unknown) => loggable(error) } };
  return destination ? pino(options, destination) : pino(options);
}
