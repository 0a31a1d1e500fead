import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`);
}

test('an empty environment serves loopback with a PostgreSQL of its own', () => {
  expect(readConfig({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    metricsPort: 0,
    databaseUrl: undefined,
    listenUrl: undefined,
    otherDatabases: [],
    dataDir: './data',
    poolSize: 10,
    logLevel: 'info',
    maxPayloadBytes: 1_048_576,
    maxMemoryBytes: 268_435_456,
    auth: undefined,
    adminKeyFile: undefined,
    metricsQueues: 100,
    drainSeconds: 0,
    rescueGraceSeconds: 5,
    accessLog: false,
    slowRoundTripMs: 1000,
    traces: false,
    webPages: { hosts: [], origins: [], addresses: false },
    trustProxy: [],
    tls: undefined,
    limits: {
      maxConnections: 10_000,
      maxHeaderBytes: 16_384,
      maxHeaders: 100,
      keepAliveMs: 75_000,
      maxConnectionMs: 0,
      requestTimeoutMs: 30_000,
      answerTimeoutMs: 30_000,
      unreadMs: 5000,
    },
    allowedOrigins: [],
    rates: { requestsPerSecond: 0, newQueuesPerSecond: 50, failuresPerMinute: 20 },
  });
});

test('an empty variable counts as none', () => {
  const names = [
    'ALLOWED_HOSTS',
    'ALLOWED_ORIGINS',
    'HOST',
    'PORT',
    'DATABASE_URL',
    'DATABASE_LISTEN_URL',
    'DATA_DIR',
    'LOG_LEVEL',
    'AUTH',
    'TRUST_PROXY',
    'TLS_CERT',
    'TLS_KEY',
    'TLS_CLIENT_CA',
    'MAX_CONNECTIONS',
    'MAX_HEADERS',
    'MAX_HEADER_BYTES',
    'KEEP_ALIVE_SECONDS',
    'MAX_CONNECTION_SECONDS',
    'METRICS_PORT',
    'REQUEST_TIMEOUT_SECONDS',
    'ANSWER_TIMEOUT_SECONDS',
    'ADMIN_KEY_FILE',
  ];
  const empty = Object.fromEntries(
    [
      ...names,
      'DATABASE_POOL_SIZE',
      'MAX_PAYLOAD_BYTES',
      'MAX_MEMORY_BYTES',
      'METRICS_QUEUES',
      'DRAIN_SECONDS',
      'RESCUE_GRACE_SECONDS',
      'ACCESS_LOG',
      'LOG_FORMAT',
      'SLOW_ROUND_TRIP_MS',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_TRACES_EXPORTER',
    ].map((n) => [n, '']),
  );
  expect(readConfig(empty)).toEqual(readConfig({}));
});

test('every variable is read', () => {
  const url = 'postgres://user:secret@db.example:6432/dibs?sslmode=require';
  expect(
    readConfig({
      HOST: '0.0.0.0',
      AUTH: 'off',
      ADMIN_KEY_FILE: '/run/secrets/dibs',
      PORT: '0',
      DATABASE_URL: url,
      DATABASE_LISTEN_URL: 'postgresql://db.example/dibs',
      DATA_DIR: '/var/lib/dibs',
      DATABASE_POOL_SIZE: '2',
      LOG_LEVEL: 'silent',
      LOG_FORMAT: 'text',
      MAX_PAYLOAD_BYTES: '16777216',
      MAX_MEMORY_BYTES: '1073741824',
      TRUST_PROXY: '10.0.0.0/8, 2001:DB8::/32,192.0.2.1,loopback',
      TLS_CERT: '/tls/tls.crt',
      TLS_KEY: '/tls/tls.key',
      TLS_CLIENT_CA: '/tls/ca.crt',
      MAX_CONNECTIONS: '500',
      MAX_HEADERS: '20',
      MAX_HEADER_BYTES: '32768',
      KEEP_ALIVE_SECONDS: '620',
      MAX_CONNECTION_SECONDS: '300',
      METRICS_PORT: '9464',
      REQUEST_TIMEOUT_SECONDS: '60',
      ANSWER_TIMEOUT_SECONDS: '20',
      RATE_LIMIT_REQUESTS_PER_SECOND: '100',
      RATE_LIMIT_NEW_QUEUES_PER_SECOND: '7',
      RATE_LIMIT_FAILURES_PER_MINUTE: '0',
      METRICS_QUEUES: '7',
      DRAIN_SECONDS: '5',
      RESCUE_GRACE_SECONDS: '20',
      ACCESS_LOG: 'on',
      SLOW_ROUND_TRIP_MS: '250',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    }),
  ).toEqual({
    host: '0.0.0.0',
    otherDatabases: [],
    port: 0,
    metricsPort: 9464,
    databaseUrl: url,
    listenUrl: 'postgresql://db.example/dibs',
    dataDir: '/var/lib/dibs',
    poolSize: 2,
    logLevel: 'silent',
    logFormat: 'text',
    maxPayloadBytes: 16_777_216,
    maxMemoryBytes: 1_073_741_824,
    auth: 'off',
    adminKeyFile: '/run/secrets/dibs',
    metricsQueues: 7,
    drainSeconds: 5,
    rescueGraceSeconds: 20,
    accessLog: true,
    slowRoundTripMs: 250,
    traces: true,
    webPages: { hosts: undefined, origins: [], addresses: true },
    trustProxy: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1', 'loopback'],
    tls: { cert: '/tls/tls.crt', key: '/tls/tls.key', clientCa: '/tls/ca.crt' },
    limits: {
      maxConnections: 500,
      maxHeaderBytes: 32_768,
      maxHeaders: 20,
      keepAliveMs: 620_000,
      maxConnectionMs: 300_000,
      requestTimeoutMs: 60_000,
      answerTimeoutMs: 20_000,
      unreadMs: 5000,
    },
    allowedOrigins: [],
    rates: { requestsPerSecond: 100, newQueuesPerSecond: 7, failuresPerMinute: 0 },
  });
});

test.each([
  ['PORT', ['-1', '65536', '80a', '8e1', '0x50', ' 80', '80.0', '１', '99999999999999999999']],
  ['DATABASE_POOL_SIZE', ['0', '1', '1001', 'ten']],
  ['MAX_PAYLOAD_BYTES', ['0', '16777217', '1MiB', '-5']],
  ['MAX_MEMORY_BYTES', ['0', '1000000', '256MiB']],
  ['MAX_CONNECTIONS', ['0', '1000001', 'many']],
  ['SLOW_ROUND_TRIP_MS', ['-1', '60001', '1s']],
  ['OTEL_TRACES_EXPORTER', ['console', 'jaeger']],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', ['collector:4318', 'grpc://collector']],
  ['MAX_HEADERS', ['0', '9', '10001']],
  ['MAX_HEADER_BYTES', ['0', '1023', '262145', '16k']],
  ['MAX_CONNECTION_SECONDS', ['-1', '86401', '5m']],
  ['METRICS_PORT', ['-1', '65536', 'metrics']],
  ['KEEP_ALIVE_SECONDS', ['0', '3601', '1.5', '60s']],
  ['REQUEST_TIMEOUT_SECONDS', ['0', '3601', '-1']],
  ['ANSWER_TIMEOUT_SECONDS', ['0', '3601', '30s']],
  [
    'TRUST_PROXY',
    [
      'true',
      '1',
      '*',
      'proxy.example',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0/8',
      'uniquelocal',
    ],
  ],
  ['METRICS_QUEUES', ['-1', '10001', 'all']],
  ['DRAIN_SECONDS', ['-1', '301', '1.5']],
  ['RESCUE_GRACE_SECONDS', ['-1', '61', '2.5', 'off']],
  ['ACCESS_LOG', ['true', 'ON']],
  ['LOG_FORMAT', ['pretty', 'JSON', 'txt']],
  ['LOG_LEVEL', ['verbose', 'INFO', 'toString']],
  ['AUTH', ['true', 'no', 'OFF', 'on']],
  ['ALLOWED_HOSTS', ['http://a.example', 'a b', 'a,b/c']],
  ['ALLOWED_ORIGINS', ['a.example', '*.example', 'http://a.example/', 'http://a.example,null']],
  ['DATABASE_URL', ['db.example', 'mysql://db/dibs', '/var/run/postgresql', 'postgres']],
  ['DATABASE_LISTEN_URL', ['db.example:5432', 'http://db/dibs']],
])('a bad %s is named', (name, values) => {
  for (const value of values) expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name}\\b`));
});

test('TLS needs a certificate and its key', () => {
  expect(refusal({ TLS_CERT: '/tls.crt' })).toMatch(/^TLS_KEY is missing/);
  expect(refusal({ TLS_KEY: '/tls.key' })).toMatch(/^TLS_CERT is missing/);
  expect(refusal({ TLS_CLIENT_CA: '/ca.crt' })).toMatch(/^TLS_CLIENT_CA works with TLS only/);
});

describe('TLS to the database', () => {
  const URL_OF = 'postgres://user:hunter2@db.example/dibs';
  test.each([
    ['sslmode=prefer', /^DATABASE_URL: sslmode=prefer goes on without TLS/],
    ['sslmode=allow', /^DATABASE_URL: sslmode=allow goes on without TLS/],
    ['sslmode=no-verify', /^DATABASE_URL: sslmode must be one of disable, require, verify-ca, verify-full/],
    ['sslmode=VERIFY-FULL', /^DATABASE_URL: sslmode must be one of/],
    ['ssl=true', /^DATABASE_URL: ssl is not known/],
    ['sslmode=verify-full&sslcrl=/crl.pem', /^DATABASE_URL: sslcrl is not known/],
    ['sslrootcert=/ca.crt', /^DATABASE_URL: sslrootcert needs an sslmode/],
    ['sslmode=verify-ca', /^DATABASE_URL: sslmode=verify-ca needs an sslrootcert/],
    ['sslmode=require&sslrootcert=system', /^DATABASE_URL: sslrootcert=system needs sslmode=verify-full/],
    ['sslmode=require&sslcert=/a.crt', /^DATABASE_URL: sslcert and sslkey need each other/],
    ['sslmode=require&sslnegotiation=fast', /^DATABASE_URL: sslnegotiation must be one of/],
    [
      'sslmode=verify-full&sslrootcert=/nowhere.crt',
      /^DATABASE_URL: sslrootcert=\/nowhere\.crt cannot be read/,
    ],
    [
      'sslmode=verify-full&sslrootcert=package.json',
      /^DATABASE_URL: sslrootcert=package\.json has no PEM certificate/,
    ],
    ['sslmode=disable&sslmode=prefer', /^DATABASE_URL: sslmode=prefer/],
  ])('a bad parameter is named: %s', (query, message) => {
    const said = refusal({ DATABASE_URL: `${URL_OF}?${query}` });
    expect(said).toMatch(message);
    expect(said).not.toContain('hunter2');
  });

  test.each([
    '',
    '?sslmode=disable',
    '?sslmode=require',
    '?sslmode=verify-full',
    '?sslmode=verify-full&sslrootcert=system',
    '?sslrootcert=system',
    '?sslmode=require&sslnegotiation=direct',
    '?uselibpqcompat=true&sslmode=require',
    '?application_name=a%20b',
  ])('a good URL is taken as it is: %s', (query) => {
    expect(readConfig({ DATABASE_URL: URL_OF + query }).databaseUrl).toBe(URL_OF + query);
  });

  test('the environment has what the URL leaves out, as for psql', () => {
    const env = {
      PGSSLMODE: 'require',
      DATABASE_URL: URL_OF,
      DATABASE_LISTEN_URL: `${URL_OF}?sslmode=disable`,
    };
    const { databaseUrl, listenUrl } = readConfig(env);
    expect(databaseUrl).toBe(`${URL_OF}?sslmode=require`);
    expect(listenUrl).toBe(env.DATABASE_LISTEN_URL);
    expect(refusal({ ...env, PGSSLMODE: 'prefer' })).toMatch(/^DATABASE_URL: sslmode=prefer/);
  });
});

describe('several hosts of the database', () => {
  const urlOf = (hosts: string, query = '') => `postgres://user:hunter2@${hosts}/dibs${query}`;

  test.each([
    ['a,b', ''],
    ['a:5432,b.example:5433,[::1]:5434', ''],
    ['a,b', '?target_session_attrs=any'],
    ['a,b', '?sslmode=disable&target_session_attrs=read-write'],
    ['a', '?target_session_attrs=primary'],
  ])('are taken as they are: %s%s', (hosts, query) => {
    const env = { DATABASE_URL: urlOf(hosts, query), DATABASE_LISTEN_URL: urlOf(hosts, query) };
    expect(readConfig(env)).toMatchObject({
      databaseUrl: env.DATABASE_URL,
      listenUrl: env.DATABASE_LISTEN_URL,
    });
  });

  test('take what the environment says of TLS', () => {
    const env = { PGSSLMODE: 'require', DATABASE_URL: urlOf('a:1,b:2') };
    expect(readConfig(env).databaseUrl).toBe(urlOf('a:1,b:2', '?sslmode=require'));
    expect(readConfig({ ...env, DATABASE_URL: urlOf('a:1,b:2', '?application_name=c') }).databaseUrl).toBe(
      urlOf('a:1,b:2', '?application_name=c&sslmode=require'),
    );
  });

  const UNREADABLE =
    /^DATABASE_URL must be a URL like .* or postgres:\/\/user:password@host1:5432,host2:5432\/database$/;
  const AS_LIST =
    /^DATABASE_URL: several hosts are written as in postgres:\/\/user:password@host1:5432,host2:5432\/database$/;
  test.each([
    [
      'a,b',
      '?target_session_attrs=standby',
      /^DATABASE_URL: target_session_attrs must be one of any, read-write, primary$/,
    ],
    ['a', '?target_session_attrs=prefer-standby', /^DATABASE_URL: target_session_attrs must be one of/],
    ['a,', '', UNREADABLE],
    [':5432,b', '', UNREADABLE],
    ['a%20b,c', '', AS_LIST],
    ['%2Frun%2Fpostgresql,b', '', AS_LIST],
    ['a', '?host=b,c', AS_LIST],
    ['a', '?port=1,2', AS_LIST],
    ['a,b', '?host=c', AS_LIST],
    ['a:x,b', '', UNREADABLE],
    ['a,b', '?sslmode=prefer', /^DATABASE_URL: sslmode=prefer/],
  ])('are refused in one line: %s%s', (hosts, query, message) => {
    const said = refusal({ DATABASE_URL: urlOf(hosts, query) });
    expect(said).toMatch(message);
    expect(said).not.toContain('hunter2');
  });
});

describe('several databases', () => {
  const URL_OF = 'postgres://host/db';
  const home = { DATABASE_URL: URL_OF };

  test('each DATABASE_URL_<NAME> is one more, with its URL for LISTEN', () => {
    const others = readConfig({
      ...home,
      DATABASE_URL_B2: `${URL_OF}?b`,
      DATABASE_URL_A: URL_OF,
      DATABASE_LISTEN_URL_B2: `${URL_OF}?listen`,
      DATABASE_URL_EMPTY: '',
    }).otherDatabases;
    expect(others).toEqual([
      { name: 'a', url: URL_OF, listenUrl: undefined },
      { name: 'b2', url: `${URL_OF}?b`, listenUrl: `${URL_OF}?listen` },
    ]);
  });

  test.each([
    [{ DATABASE_URL_a: URL_OF }, 'DATABASE_URL_a: the name behind DATABASE_URL_ must be'],
    [{ DATABASE_URL_HOME: URL_OF }, 'DATABASE_URL_HOME: "home" is the database of DATABASE_URL'],
    [{ DATABASE_URL_A: 'x' }, 'DATABASE_URL_A must be a URL'],
    [{ DATABASE_LISTEN_URL_A: URL_OF }, 'DATABASE_LISTEN_URL_A needs DATABASE_URL_A'],
    [{ DATABASE_URL: '', DATABASE_URL_A: URL_OF }, 'DATABASE_URL_A needs DATABASE_URL'],
  ])('what is wrong is named: %j', (env, line) => {
    expect(refusal({ ...home, ...env })).toContain(line);
  });
});

test('all bad variables are named at once, one on each line', () => {
  const lines = refusal({ PORT: 'x', LOG_LEVEL: 'x', DATABASE_POOL_SIZE: 'x', DATABASE_URL: 'x' }).split(
    '\n',
  );
  expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual([
    'DATABASE_POOL_SIZE',
    'DATABASE_URL',
    'LOG_LEVEL',
    'PORT',
  ]);
});

test('traces are on when a collector is named or asked for, and off when somebody says so', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' };
  const traces = (env: Record<string, string>) => readConfig(env).traces;
  expect(traces(endpoint)).toBe(true);
  expect(traces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' })).toBe(true);
  expect(traces({ OTEL_TRACES_EXPORTER: 'otlp' })).toBe(true);
  expect(traces({ OTEL_SERVICE_NAME: 'dibs' })).toBe(false);
  expect(traces({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBe(false);
  expect(traces({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBe(false);
  expect(refusal({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toMatch(
    /^OTEL_EXPORTER_OTLP_PROTOCOL must/,
  );
});

test('a password is never shown', () => {
  for (const value of [
    'postgre://user:hunter2@db/dibs',
    'user:hunter2@db',
    'postgres://user:hunter2@db:port/dibs',
    'postgres://user:hunter2@[db/dibs',
  ])
    for (const name of ['DATABASE_URL', 'DATABASE_LISTEN_URL'])
      expect(refusal({ [name]: value, PORT: 'x' })).not.toContain('hunter2');
});

test('hosts and origins are lists, in small letters', () => {
  const env = {
    ALLOWED_HOSTS: 'Dibs.internal, b ',
    ALLOWED_ORIGINS: 'http://localhost:3000,https://a.example',
  };
  expect(readConfig(env).webPages).toEqual({
    hosts: ['dibs.internal', 'b'],
    origins: ['http://localhost:3000', 'https://a.example'],
    addresses: false,
  });
  expect(readConfig({ ALLOWED_ORIGINS: '*' }).allowedOrigins).toEqual(['*']);
});

test('METRICS_PORT is another port than PORT', () => {
  expect(refusal({ METRICS_PORT: '8080' })).toBe('METRICS_PORT must be another port than PORT');
  expect(readConfig({ METRICS_PORT: '8080', PORT: '8081' }).metricsPort).toBe(8080);
});
