/** The JSON pointer (RFC 6901) to what these names and positions lead to. */
export const pointerTo = (...parts: (string | number)[]): string =>
  parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
