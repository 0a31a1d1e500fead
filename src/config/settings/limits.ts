import { DEFAULT_MEMORY_BYTES, LEAST_MEMORY_BYTES } from '../../memory.ts';
import type { Settings } from './setting.ts';

export const LIMITS = {
  RATE_LIMIT_REQUESTS_PER_SECOND: {
    kind: 'integer',
    unit: 'requests a second',
    default: 0,
    least: 0,
    most: 1_000_000,
    about:
      'How many requests a key or token may send to one replica: [more](operating.md#limits). 0: no limit.',
  },
  RATE_LIMIT_NEW_QUEUES_PER_SECOND: {
    kind: 'integer',
    unit: 'queues a second',
    default: 50,
    least: 0,
    most: 1_000_000,
    about: 'How many queues a key or token may create through one replica. 0: no limit.',
  },
  RATE_LIMIT_FAILURES_PER_MINUTE: {
    kind: 'integer',
    unit: 'failures a minute',
    default: 20,
    least: 0,
    most: 1_000_000,
    about: 'How many wrong keys and tokens an address may send to one replica. 0: no limit.',
  },
  MAX_CONNECTIONS: {
    kind: 'integer',
    unit: 'connections',
    default: 10_000,
    least: 1,
    most: 1_000_000,
    about: 'New connections of clients beyond this number are closed at once.',
  },
  MAX_HEADER_BYTES: {
    kind: 'integer',
    unit: 'bytes',
    default: 16_384,
    least: 1024,
    most: 262_144,
    about: 'Size of the request line and the headers of a request together.',
  },
  MAX_HEADERS: {
    kind: 'integer',
    unit: 'headers',
    default: 100,
    least: 10,
    most: 10_000,
    about: 'Headers of a request.',
  },
  MAX_PAYLOAD_BYTES: {
    kind: 'integer',
    unit: 'bytes',
    default: 1_048_576,
    least: 1,
    most: 16_777_216,
    about: 'Size of a payload.',
  },
  MAX_MEMORY_BYTES: {
    kind: 'integer',
    unit: 'bytes',
    default: DEFAULT_MEMORY_BYTES,
    least: LEAST_MEMORY_BYTES,
    most: 2 ** 40,
    about:
      'Memory for the requests and answers that a replica works on at once: [how to size it](operating.md#memory).',
  },
  KEEP_ALIVE_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 75,
    least: 1,
    most: 3600,
    about: 'How long a connection may be idle. Choose more than the idle timeout of the proxy in front.',
  },
  MAX_CONNECTION_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 0,
    least: 0,
    most: 86_400,
    about:
      'An older connection is closed after its next answer, so that [new replicas get load](operating.md#long-lived-connections). 0: never.',
  },
  REQUEST_TIMEOUT_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 30,
    least: 1,
    most: 3600,
    about: 'How long a request may take to arrive with its body.',
  },
  ANSWER_TIMEOUT_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 30,
    least: 1,
    most: 3600,
    about: 'How long a client may read nothing of an answer before its connection is closed.',
  },
} satisfies Settings;
