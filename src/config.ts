import { DEFAULT_MEMORY_BYTES, LEAST_MEMORY_BYTES } from './memory.ts';

export interface Config {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** Undefined means an embedded PostgreSQL with its data under `dataDir`. */
  databaseUrl: string | undefined;
  /** For LISTEN. It is needed when `databaseUrl` leads through a transaction pooler. */
  listenUrl: string | undefined;
  dataDir: string;
  poolSize: number;
  logLevel: string;
  maxPayloadBytes: number;
  maxMemoryBytes: number;
  metricsQueues: number;
  accessLog: boolean;
  /** Who may send requests besides programs on this machine. Undefined with AUTH=off: everybody. */
  webPages: { hosts: string[]; origins: string[] } | undefined;
}

/** How many queues have metrics of their own, if nobody says otherwise. */
export const METRICS_QUEUES = 100;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
const HOST_NAME = /^[a-z0-9._:-]+$/;

/** Whether a name or address leads to this machine, whoever resolves it. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** Dibs cannot start with this environment. The message names every bad variable. */
export class ConfigError extends Error {}

/**
 * Reads the configuration. HOST is checked only for a process that listens.
 * @throws ConfigError
 */
export function readConfig(env: Record<string, string | undefined>, { listens = true } = {}): Config {
  const problems: string[] = [];

  function integer(name: string, fallback: number, least: number, most: number): number {
    const text = env[name];
    if (text === undefined || text === '') return fallback;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    problems.push(`${name} must be a whole number from ${least} to ${most}, not "${text}"`);
    return fallback;
  }

  function oneOf(name: string, fallback: string, values: string[]): string {
    const text = env[name] || fallback;
    if (!values.includes(text)) problems.push(`${name} must be one of ${values.join(', ')}, not "${text}"`);
    return text;
  }

  function databaseUrl(name: string): string | undefined {
    const text = env[name];
    if (!text) return undefined;
    // The message does not show the value: it may hold a password.
    if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol))
      problems.push(`${name} must be a URL like postgres://user:password@host:5432/database`);
    return text;
  }

  function list(name: string, isValid: (item: string) => boolean, what: string): string[] {
    const items = (env[name] ?? '').split(',').map((item) => item.trim().toLowerCase());
    const given = items.filter((item) => item !== '');
    for (const item of given)
      if (!isValid(item)) problems.push(`${name} must be ${what}, separated by commas, not "${item}"`);
    return given;
  }

  const host = env.HOST || '127.0.0.1';
  const auth = oneOf('AUTH', 'on', ['on', 'off']);
  if (listens && auth !== 'off' && !isLoopback(host))
    problems.push(
      `HOST=${host} lets in everybody who can reach it, because there are no access keys yet; ` +
        'use 127.0.0.1, or set AUTH=off if your network keeps strangers out',
    );

  const hosts = list('ALLOWED_HOSTS', (item) => HOST_NAME.test(item), 'names of hosts without ports');
  const origins = list(
    'ALLOWED_ORIGINS',
    (item) => URL.canParse(item) && new URL(item).origin === item,
    'origins like http://localhost:3000',
  );
  const config: Config = {
    host,
    port: integer('PORT', 8080, 0, 65535),
    databaseUrl: databaseUrl('DATABASE_URL'),
    listenUrl: databaseUrl('DATABASE_LISTEN_URL'),
    dataDir: env.DATA_DIR || './data',
    poolSize: integer('DATABASE_POOL_SIZE', 10, 2, 1000),
    logLevel: oneOf('LOG_LEVEL', 'info', LOG_LEVELS),
    maxPayloadBytes: integer('MAX_PAYLOAD_BYTES', 2 ** 20, 1, 16 * 2 ** 20),
    maxMemoryBytes: integer('MAX_MEMORY_BYTES', DEFAULT_MEMORY_BYTES, LEAST_MEMORY_BYTES, 2 ** 40),
    metricsQueues: integer('METRICS_QUEUES', METRICS_QUEUES, 0, 10_000),
    accessLog: oneOf('ACCESS_LOG', 'off', ['on', 'off']) === 'on',
    webPages: auth === 'off' ? undefined : { hosts, origins },
  };
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}
