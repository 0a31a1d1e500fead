import { type OtherDatabase, readOtherDatabases } from './config/databases.ts';
import { readDatabaseUrl } from './config/databaseUrl.ts';
import { type HttpLimits, readLimits } from './config/limits.ts';
import { type Rates, readRates } from './config/rates.ts';
import { type Reach, readReach } from './config/reach.ts';
import { readTls, type TlsPaths } from './config/tls.ts';
import { readTokens, type TokenConfig } from './config/tokens.ts';
import { readTraces } from './config/traces.ts';
import { readTraceUrl } from './config/traceUrl.ts';
import { createVariables } from './config/variables.ts';

export { isLoopback } from './config/reach.ts';

export interface Config extends Reach {
  /** Undefined: without TLS. */
  tls: TlsPaths | undefined;
  limits: HttpLimits;
  /** Undefined means an embedded PostgreSQL with its data under `dataDir`. */
  databaseUrl: string | undefined;
  /** For LISTEN. It is needed when `databaseUrl` leads through a transaction pooler. */
  listenUrl: string | undefined;
  /** The databases beside the one of `databaseUrl`, by name. */
  otherDatabases: OtherDatabase[];
  dataDir: string;
  poolSize: number;
  /** A file with queues and schedules as they should be. */
  queuesFile: string | undefined;
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
  /** For how long leases that ran out during an outage are left alone after it. */
  rescueGraceSeconds: number;
  rates: Rates;
  /** Undefined: there is no issuer whose tokens count. */
  tokens: TokenConfig | undefined;
}

/** Dibs cannot start with this environment. The message names every bad variable. */
export class ConfigError extends Error {}

/** @throws ConfigError */
export function readConfig(env: Record<string, string | undefined>): Config {
  const variables = createVariables(env);
  const { text, integer, choice, problems } = variables;
  const config: Config = {
    ...readReach(variables),
    tls: readTls(variables),
    limits: readLimits(variables),
    databaseUrl: readDatabaseUrl(variables, 'DATABASE_URL', text('DATABASE_URL')),
    listenUrl: readDatabaseUrl(variables, 'DATABASE_LISTEN_URL', text('DATABASE_LISTEN_URL')),
    otherDatabases: readOtherDatabases(env, variables),
    dataDir: text('DATA_DIR'),
    poolSize: integer('DATABASE_POOL_SIZE'),
    queuesFile: text('QUEUES_FILE'),
    logLevel: choice('LOG_LEVEL'),
    logFormat: (choice('LOG_FORMAT') || undefined) as Config['logFormat'],
    maxPayloadBytes: integer('MAX_PAYLOAD_BYTES'),
    maxMemoryBytes: integer('MAX_MEMORY_BYTES'),
    metricsQueues: integer('METRICS_QUEUES'),
    accessLog: choice('ACCESS_LOG') === 'on',
    traceUrl: readTraceUrl(variables),
    slowRoundTripMs: integer('SLOW_ROUND_TRIP_MS'),
    traces: readTraces(variables),
    drainSeconds: integer('DRAIN_SECONDS'),
    rescueGraceSeconds: integer('RESCUE_GRACE_SECONDS'),
    rates: readRates(variables),
    tokens: readTokens(variables),
  };
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}
