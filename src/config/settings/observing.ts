import type { Settings } from './setting.ts';

export const OBSERVING = {
  LOG_LEVEL: {
    kind: 'choice',
    values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    about: 'The least severe lines that are logged. `debug` has a line for each call of a verb.',
  },
  LOG_FORMAT: {
    kind: 'choice',
    values: ['json', 'text'],
    default: '',
    about:
      '`json`: one line of JSON for each event. `text`: lines for people. Without it, text on a terminal and JSON elsewhere.',
  },
  ACCESS_LOG: {
    kind: 'choice',
    values: ['on', 'off'],
    default: 'off',
    about: '`on`: one line for [each request](operating.md#logs).',
  },
  SLOW_ROUND_TRIP_MS: {
    kind: 'integer',
    unit: 'milliseconds',
    default: 1000,
    least: 0,
    most: 60_000,
    about:
      'Round trips to the database that take as long, or longer, are logged as a [warning with their parts](operating.md#logs). 0: none.',
  },
  METRICS_PORT: {
    kind: 'integer',
    unit: '',
    default: 0,
    least: 0,
    most: 65535,
    about:
      'A port of its own for [`/metrics` and the probes](operating.md#health), without keys and TLS. 0: there is none.',
  },
  METRICS_QUEUES: {
    kind: 'integer',
    unit: 'queues',
    default: 100,
    least: 0,
    most: 10_000,
    about: 'How many queues have [metrics](metrics.md) of their own. The others share one series.',
  },
  TRACE_URL: {
    kind: 'text',
    is: 'URL with `{trace_id}` in it',
    about: 'Where a trace is shown. The [dashboard](dashboard.md) links to it.',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    kind: 'text',
    is: 'URL',
    about: 'The collector of [traces](tracing.md): `http://collector:4318`. Without it, no spans are sent.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    kind: 'text',
    is: 'URL',
    about: 'The same, as the whole URL. It takes precedence.',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    kind: 'choice',
    values: ['http/protobuf'],
    default: 'http/protobuf',
    about: 'How spans are sent.',
  },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
    kind: 'choice',
    values: ['http/protobuf'],
    default: 'http/protobuf',
    about: 'The same. It takes precedence.',
  },
  OTEL_TRACES_EXPORTER: {
    kind: 'choice',
    values: ['otlp', 'none'],
    default: '',
    about:
      'Without it, spans are sent where there is an endpoint. The SDK reads the [other variables](tracing.md#get-traces) of OpenTelemetry, too.',
  },
  OTEL_SDK_DISABLED: {
    kind: 'text',
    is: '`true` or `false`',
    about: '`true`: no spans are sent.',
  },
} satisfies Settings;
