import { readDatabaseUrl } from './config/databaseUrl.ts';
import { type HttpLimits, readLimits } from './config/limits.ts';
import { type Rates, readRates } from './config/rates.ts';
import { type Reach, readReach } from './config/reach.ts';
import { readTls, type TlsPaths } from './config/tls.ts';
import { readTokens, type TokenConfig } from './config/tokens.ts';
import { readTraces } from './config/traces.ts';
import { readTraceUrl } from './config/traceUrl.ts';
import { createVariables } from './config/variables.ts';
import { DEFAULT_MEMORY_BYTES, LEAST_MEMORY_BYTES } from './memory.ts';

export { isLoopback } from './config/reach.ts';

export interface Config extends Reach {
  /** Undefined: without TLS. */
  tls: TlsPaths | undefined;
  limits: HttpLimits;
  /** Undefined means an embedded PostgreSQL with its data under `dataDir`. */
  databaseUrl: string | undefined;
  /** For LISTEN. It is needed when `databaseUrl` leads through a transaction pooler. */
  listenUrl: string | undefined;
  dataDir: string;
  poolSize: number;
  logLevel: string;
  /** Undefined: text on a terminal, JSON elsewhere. */
  logFormat: 'json' | 'text' | undefined;
  maxPayloadBytes: number;
  maxMemoryBytes: number;
  metricsQueues: number;
  accessLog: boolean;
  /** Where a trace can be looked at. It has `{trace_id}`. */
  traceUrl: string | undefined;
  /** Round trips to the database that take so long, or longer, are logged. 0: none is. */
  slowRoundTripMs: number;
  /** Whether spans are sent to a collector. */
  traces: boolean;
  /** For how long a replica that is to stop serves on, after it has said that it is not ready. */
  drainSeconds: number;
  rates: Rates;
  /** Undefined: there is no issuer whose tokens count. */
  tokens: TokenConfig | undefined;
}

/** How many queues have metrics of their own, if nobody says otherwise. */
export const METRICS_QUEUES = 100;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Dibs cannot start with this environment. The message names every bad variable. */
export class ConfigError extends Error {}

/** @throws ConfigError */
export function readConfig(env: Record<string, string | undefined>): Config {
  const variables = createVariables(env);
  const { text, integer, oneOf, problems } = variables;
  const config: Config = {
    ...readReach(variables),
    tls: readTls(variables),
    limits: readLimits(variables),
    databaseUrl: readDatabaseUrl(variables, 'DATABASE_URL'),
    listenUrl: readDatabaseUrl(variables, 'DATABASE_LISTEN_URL'),
    dataDir: text('DATA_DIR') ?? './data',
    poolSize: integer('DATABASE_POOL_SIZE', 10, 2, 1000),
    logLevel: oneOf('LOG_LEVEL', 'info', LOG_LEVELS),
    logFormat: (oneOf('LOG_FORMAT', '', ['', 'json', 'text']) || undefined) as Config['logFormat'],
    maxPayloadBytes: integer('MAX_PAYLOAD_BYTES', 2 ** 20, 1, 16 * 2 ** 20),
    maxMemoryBytes: integer('MAX_MEMORY_BYTES', DEFAULT_MEMORY_BYTES, LEAST_MEMORY_BYTES, 2 ** 40),
    metricsQueues: integer('METRICS_QUEUES', METRICS_QUEUES, 0, 10_000),
    accessLog: oneOf('ACCESS_LOG', 'off', ['on', 'off']) === 'on',
    traceUrl: readTraceUrl(variables),
    slowRoundTripMs: integer('SLOW_ROUND_TRIP_MS', 1000, 0, 60_000),
    traces: readTraces(variables),
    drainSeconds: integer('DRAIN_SECONDS', 0, 0, 300),
    rates: readRates(variables),
    tokens: readTokens(variables),
  };
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}
