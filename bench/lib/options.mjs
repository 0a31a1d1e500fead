import { parseArgs } from 'node:util';

/**
 * Reads the command line into a plain object. The defaults are those of the full form, or with --short those
 * of the short form; options on the command line replace them. An option is a number. It is a list of
 * numbers, separated by commas, where its default is a list, and a text where its default is a text.
 */
export function readOptions({ full, short }) {
  const options = { short: { type: 'boolean', default: false }, json: { type: 'string' } };
  for (const name of Object.keys(full)) options[name] = { type: 'string' };
  const { values } = parseArgs({ options });
  const result = { ...full, ...(values.short ? short : {}) };
  for (const name of Object.keys(full))
    if (values[name] !== undefined) result[name] = read(name, values[name], full[name]);
  return { ...result, isShort: values.short, json: values.json };
}

function read(name, text, fallback) {
  if (typeof fallback === 'string') return text;
  const numbers = text.split(',').map(Number);
  if (numbers.some((n) => !Number.isFinite(n) || n < 0) || (!Array.isArray(fallback) && numbers.length > 1))
    throw new Error(
      `--${name} takes ${Array.isArray(fallback) ? 'numbers, comma-separated' : 'a number'}, not "${text}"`,
    );
  return Array.isArray(fallback) ? numbers : numbers[0];
}
