import type { Variables } from './variables.ts';

/**
 * Whether the environment asks for traces, by the variables that OpenTelemetry defines. What else they say, such as the
 * sampler, the SDK reads itself.
 */
export function readTraces({ given, choice, problems }: Variables): boolean {
  const exporter = choice('OTEL_TRACES_EXPORTER');
  const isDisabled = given('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const own = <What extends 'ENDPOINT' | 'PROTOCOL'>(what: What) => {
    const name = `OTEL_EXPORTER_OTLP_TRACES_${what}` as const;
    return given(name) === undefined ? (`OTEL_EXPORTER_OTLP_${what}` as const) : name;
  };
  const endpoint = given(own('ENDPOINT'));
  if (isDisabled || exporter === 'none' || (exporter === '' && endpoint === undefined)) return false;
  if (endpoint !== undefined && !/^https?:\/\/[^/]/i.test(endpoint))
    problems.push(`${own('ENDPOINT')} must be a URL that begins with http:// or https://`);
  choice(own('PROTOCOL'));
  return true;
}
