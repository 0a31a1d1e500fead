const SCHEME_WANTED = 'url must begin with http:// or https://, as in http://127.0.0.1:8080';
const URL_WANTED =
  'url must be http:// or https:// with a host, and a port from 1 to 65535: http://127.0.0.1:8080';

/**
 * The URL of Dibs without white space around it and slashes at its end. What is wrong with it will not pass, so it is refused before
 * anything is sent. The URL itself may have a secret in it, so no error shows it. @throws TypeError
 */
export function checkedUrl(given: string): string {
  const text = given.trim().replace(/\/+$/, '');
  if (!/^https?:\/\//i.test(text)) throw new TypeError(SCHEME_WANTED);
  if (!/^https?:\/\/[^/\s]/i.test(text) || !URL.canParse(text)) throw new TypeError(URL_WANTED);
  const { username, password, search, hash, port } = new URL(text);
  if (port === '0') throw new TypeError(URL_WANTED);
  if (username || password || search || hash || /[?#]/.test(text))
    throw new TypeError('url must have no user name, password, query or fragment. A key goes into `key`');
  // Only a scheme in small letters is known where it is sent.
  return text.replace(/^https?/i, (scheme) => scheme.toLowerCase());
}

/** A key as a header may have it: without the line break of its file. No error shows it. @throws TypeError */
export function checkedKey(given: unknown): string {
  const key = typeof given === 'string' ? given.trim() : (given ?? '');
  if (typeof key !== 'string' || !/^[\x21-\x7e]*$/.test(key))
    throw new TypeError('key must be a text of printable ASCII characters, without spaces');
  return key;
}

/** A number of seconds. @throws RangeError */
export function checkTime(
  name: string,
  seconds: number | undefined,
  { mayBeInfinite = true, most = Number.POSITIVE_INFINITY } = {},
): void {
  if (seconds === undefined) return;
  const isTime = typeof seconds === 'number' && seconds >= 0 && seconds <= most;
  if (isTime && (mayBeInfinite || Number.isFinite(seconds))) return;
  const range = most === Number.POSITIVE_INFINITY ? ', 0 or more' : ` from 0 to ${most}`;
  throw new RangeError(`${name} must be a number of seconds${range}`);
}
