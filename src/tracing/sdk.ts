import { setTimeout as sleep } from 'node:timers/promises';
import { DiagLogLevel, diag, type ProxyTracerProvider, trace } from '@opentelemetry/api';
import { StartError } from '../errors.ts';
import { createRareLog } from '../rareLog.ts';
import { version } from '../version.ts';

/** How long the end of the service waits for the last spans to be sent. */
const LAST_SPANS_MS = 2000;

/** Whether somebody has brought an SDK along already, with `node --import`. */
export function hasSdk(): boolean {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  return provider.getDelegateTracer === undefined || provider.getDelegateTracer('dibs') !== undefined;
}

/** The packages are optional: who wants no traces need not have them. @throws StartError when they are missing */
async function loadPackages() {
  try {
    return {
      ...(await import('@opentelemetry/sdk-trace-base')),
      ...(await import('@opentelemetry/exporter-trace-otlp-proto')),
      ...(await import('@opentelemetry/resources')),
    };
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StartError(
      'OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_TRACES_EXPORTER asks for traces, but the packages for them are not installed. ' +
        'Install Dibs with its optional dependencies, or set OTEL_TRACES_EXPORTER=none.',
    );
  }
}

/** Sends spans to the collector that the environment names. Returns a function that sends the last ones and stops. */
export async function startSdk(
  warn: (fields: object, message: string) => void,
): Promise<() => Promise<void>> {
  const packages = await loadPackages();
  const { BasicTracerProvider, BatchSpanProcessor, OTLPTraceExporter } = packages;
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = packages;
  // The collector is not necessary. While it is away, that is noted now and then.
  const note = createRareLog<string>(
    (message) => message,
    (message, times) => warn({ times, cause: message }, 'traces are not sent'),
  );
  const quiet = () => undefined;
  const logger = { error: note, warn: note, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'dibs', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  trace.setGlobalTracerProvider(provider);
  return async () => {
    // A collector that is away must not hold up the end of the service.
    const late = sleep(LAST_SPANS_MS, undefined, { ref: false });
    await Promise.race([provider.shutdown(), late]);
    trace.disable();
  };
}
