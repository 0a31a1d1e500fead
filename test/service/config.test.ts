import { expect, test } from 'vitest';
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
    databaseUrl: undefined,
    listenUrl: undefined,
    dataDir: './data',
    poolSize: 10,
    logLevel: 'info',
    maxPayloadBytes: 1_048_576,
    maxMemoryBytes: 268_435_456,
    metricsQueues: 100,
    accessLog: false,
    webPages: { hosts: [], origins: [] },
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
  ];
  const empty = Object.fromEntries(
    [
      ...names,
      'DATABASE_POOL_SIZE',
      'MAX_PAYLOAD_BYTES',
      'MAX_MEMORY_BYTES',
      'METRICS_QUEUES',
      'ACCESS_LOG',
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
      PORT: '0',
      DATABASE_URL: url,
      DATABASE_LISTEN_URL: 'postgresql://db.example/dibs',
      DATA_DIR: '/var/lib/dibs',
      DATABASE_POOL_SIZE: '2',
      LOG_LEVEL: 'silent',
      MAX_PAYLOAD_BYTES: '16777216',
      MAX_MEMORY_BYTES: '1073741824',
      METRICS_QUEUES: '7',
      ACCESS_LOG: 'on',
    }),
  ).toEqual({
    host: '0.0.0.0',
    port: 0,
    databaseUrl: url,
    listenUrl: 'postgresql://db.example/dibs',
    dataDir: '/var/lib/dibs',
    poolSize: 2,
    logLevel: 'silent',
    maxPayloadBytes: 16_777_216,
    maxMemoryBytes: 1_073_741_824,
    metricsQueues: 7,
    accessLog: true,
    webPages: undefined,
  });
});

test.each([
  ['PORT', ['-1', '65536', '80a', '8e1', '0x50', ' 80', '80.0', '１', '99999999999999999999']],
  ['DATABASE_POOL_SIZE', ['0', '1', '1001', 'ten']],
  ['MAX_PAYLOAD_BYTES', ['0', '16777217', '1MiB', '-5']],
  ['MAX_MEMORY_BYTES', ['0', '1000000', '256MiB']],
  ['METRICS_QUEUES', ['-1', '10001', 'all']],
  ['ACCESS_LOG', ['true', 'ON']],
  ['LOG_LEVEL', ['verbose', 'INFO', 'toString']],
  ['AUTH', ['true', 'no', 'OFF']],
  ['ALLOWED_HOSTS', ['http://a.example', 'a b', 'a,b/c']],
  ['ALLOWED_ORIGINS', ['a.example', '*', 'http://a.example/', 'http://a.example,null']],
  ['DATABASE_URL', ['db.example', 'mysql://db/dibs', '/var/run/postgresql', 'postgres']],
  ['DATABASE_LISTEN_URL', ['db.example:5432', 'http://db/dibs']],
])('a bad %s is named', (name, values) => {
  for (const value of values) expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name}\\b`));
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

test('only loopback is served, unless AUTH=off', () => {
  for (const HOST of ['localhost', '127.0.0.1', '127.1.2.3', '::1'])
    expect(readConfig({ HOST }).host).toBe(HOST);
  for (const HOST of [
    '0.0.0.0',
    '::',
    '192.168.1.10',
    'db.example',
    '127.0.0.1.example',
    '1127.0.0.1',
    'localhost.example',
    '127.0.0.1\n0.0.0.0',
  ]) {
    const message = refusal({ HOST });
    expect(message).toContain('HOST');
    expect(message).toContain('AUTH=off');
    expect(refusal({ HOST, AUTH: 'on' })).toBe(message);
    expect(readConfig({ HOST, AUTH: 'off' }).host).toBe(HOST);
  }
});

test('hosts and origins are lists, in small letters', () => {
  const env = {
    ALLOWED_HOSTS: 'Dibs.internal, b ',
    ALLOWED_ORIGINS: 'http://localhost:3000,https://a.example',
  };
  expect(readConfig(env).webPages).toEqual({
    hosts: ['dibs.internal', 'b'],
    origins: ['http://localhost:3000', 'https://a.example'],
  });
  expect(readConfig({ ...env, AUTH: 'off' }).webPages).toBe(undefined);
});

test('a process that only migrates may have any HOST', () => {
  const env = { HOST: '0.0.0.0', DATABASE_URL: 'postgres://localhost/dibs' };
  expect(() => readConfig(env)).toThrow(/HOST/);
  expect(readConfig(env, { listens: false }).databaseUrl).toBe(env.DATABASE_URL);
});
