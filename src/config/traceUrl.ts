import type { Variables } from './variables.ts';

const TRACE_ID = '{trace_id}';

function isLink(text: string): boolean {
  const sample = text.replaceAll(TRACE_ID, '0');
  return URL.canParse(sample) && /^https?:$/.test(new URL(sample).protocol);
}

/** Where a trace can be looked at. The dashboard makes a link of it. */
export function readTraceUrl({ text, problems }: Variables): string | undefined {
  const given = text('TRACE_URL');
  if (given !== undefined && !(given.includes(TRACE_ID) && isLink(given)))
    problems.push(`TRACE_URL must be an http or https URL with ${TRACE_ID} in it, not "${given}"`);
  return given;
}
