import type { Variables } from './variables.ts';

/**
 * Whether the environment asks for traces, by the variables that OpenTelemetry defines. What else they say, such as the
 * sampler, the SDK reads itself.
 */
export function readTraces({ text, oneOf, problems }: Variables): boolean {
  const exporter = oneOf('OTEL_TRACES_EXPORTER', '', ['', 'otlp', 'none']);
  const isDisabled = text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const own = (what: string) => {
    const name = `OTEL_EXPORTER_OTLP_TRACES_${what}`;
    return text(name) === undefined ? `OTEL_EXPORTER_OTLP_${what}` : name;
  };
  const endpoint = text(own('ENDPOINT'));
  if (isDisabled || exporter === 'none' || (exporter === '' && endpoint === undefined)) return false;
  if (endpoint !== undefined && !/^https?:\/\/[^/]/i.test(endpoint))
    problems.push(`${own('ENDPOINT')} must be a URL that begins with http:// or https://`);
  oneOf(own('PROTOCOL'), 'http/protobuf', ['http/protobuf']);
  return true;
}
