import { inSlices, utf8Of } from '../slices.ts';
import { Encoded } from './encoded.ts';
import type { Call } from './pipeline.ts';
import { encodeTexts, LONG, LongTexts } from './textArray.ts';

/*
 * Long parameters. The driver would turn 16 MiB of texts into bytes in one piece, and copy them twice. Here they are
 * encoded in slices, before a statement has a connection, into parts that are sent as they are.
 */

const isLong = (value: unknown): value is LongTexts | string =>
  value instanceof LongTexts || (typeof value === 'string' && value.length > LONG);

function hasLong({ statement, parameters }: Call): boolean {
  for (const name of statement.parameters)
    if (isLong((parameters as Record<string, unknown>)[name])) return true;
  return false;
}

function* encodeLong(calls: Call[]): Generator<void, Call[]> {
  const encoded: Call[] = [];
  for (const call of calls) {
    const { parameters } = call;
    const values: Record<string, unknown> = { ...parameters };
    for (const [name, value] of Object.entries(values))
      if (isLong(value))
        values[name] =
          value instanceof LongTexts ? yield* encodeTexts(value) : new Encoded([yield* utf8Of(value)], false);
    encoded.push({ ...call, parameters: values });
  }
  return encoded;
}

/** The same calls, with their long parameters encoded. */
export const withLongEncoded = (calls: Call[]): Call[] | Promise<Call[]> =>
  calls.some(hasLong) ? inSlices(encodeLong(calls)) : calls;
