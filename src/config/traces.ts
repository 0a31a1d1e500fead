import type { Variables } from './variables.ts';

/**
 * Whether the environment asks for traces, by the variables that OpenTelemetry defines. What else they say, such as the
 * sampler, the SDK reads itself.
 */
export function readTraces({ text, oneOf, problems }: Variables): boolean {
  const exporter = oneOf('OTEL_TRACES_EXPORTER', '', ['', 'otlp', 'none']);
  const isDisabled = text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const endpoint = text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? text('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (isDisabled || exporter === 'none' || (exporter === '' && endpoint === undefined)) return false;
  if (endpoint !== undefined && !/^https?:\/\/[^/]/i.test(endpoint))
    problems.push('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that begins with http:// or https://');
  const own = text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL');
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  oneOf(name, 'http/protobuf', ['http/protobuf']);
  return true;
}
