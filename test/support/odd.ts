import fc from 'fast-check';

const words = (text: string) => text.trim().split(/\s+/);

/** JSON texts that break servers: at the limits of numbers, of Unicode, of time. */
export const ODD = [
  ...words('0 -0 1 -1 0.1 1.0 1e-7 5e-324 1e-400 1e308 1e400 -1e400 0.30000000000000004 100 1000 2147483647'),
  ...words(
    '2147483648 4294967296 9007199254740993 9223372036854775808 null true false [] {} [null] [[[[]]]]',
  ),
  ...words(
    '"" "x" "default" "__proto__" "ready" "exponential" "constant" "$1" "%s" "{a,b}" "\\"},{\\"" "NULL"',
  ),
  ...words('"null" "infinity" "-infinity" "now" "epoch" {"a":1} {"__proto__":null} "\\u0000" "a\\u0000b"'),
  ...words(
    '"\\ud800" "\\udfff\\ud800" "\\ufffe" "😀" "\\\\" "\'" "2026-11-21T09:30:00Z" "0000-01-01T00:00:00Z"',
  ),
  ...words(
    '"9999-12-31T23:59:59Z" "2026-12-31T23:59:60Z" "0000-01-01T00:00:00+23:59" "2026-02-30T00:00:00Z"',
  ),
  '"2026-11-21 09:30:00z"',
  '"\u2028"',
  `"${'x'.repeat(300)}"`,
];

/** Names of fields of any request, and names that JavaScript treats specially. */
export const NAMES = words(`
  queue payload headers priority delay_seconds run_at max_attempts backoff jobs queues limit lease_seconds
  unique_key unique_for_seconds wait_seconds worker lease_token result error retry progress id acks nacks releases extends states error_contains
  retention_seconds dead_retention_seconds alert_after_seconds kind base_seconds max_seconds jitter __proto__ constructor \\u0000`);

/** Values that a field accepts, or nearly accepts, so that many requests are valid. */
const TYPICAL = new Map(
  Object.entries({
    queue: words('"a" "b" "a:b.c"'),
    queues: words('["a","b"] ["a"] ["a","a"]'),
    headers: words('{} {"\\ud800":"\\udc00"} {"__proto__":"x","":""} {"a":"\\ufffe\\n"}'),
    priority: words('100 -100 -0 1e1 1.0'),
    delay_seconds: words('0 -0 0.1 5e-324 1e-310 31622400 1e-7'),
    run_at: words('"0000-01-01T00:00:00Z" "2000-02-29T23:59:59.999999999999-23:59" "2026-11-21t09:30:00z"'),
    max_attempts: words('1 1000 1e2'),
    backoff: words(`
    {} {"base_seconds":5e-324,"jitter":1} {"base_seconds":31622400,"max_seconds":0}
    {"kind":"linear","base_seconds":1e-310,"max_seconds":5e-324,"jitter":5e-324}
    {"kind":"constant","jitter":0.9999999999999999}`),
    unique_key: words('"k" "\\ud800" "😀" "\\ufffd"'),
    unique_for_seconds: words('0 5e-324 0.01 31622400'),
    limit: words('1 1000 3'),
    lease_seconds: words('0.1 43200 0.10000000000000001'),
    wait_seconds: words('0 5e-324 0.01'),
    worker: words('"\\ud800" "w" "😀"'),
    error: [...words('"\\ud800" "" "e"'), `"${'é'.repeat(20_000)}"`],
    retry: words('true false'),
    states: words('["ready","ready"] ["dead","completed","cancelled"]'),
    error_contains: words('"\\ud800" "%" "\\\\"'),
    retention_seconds: words('0 5e-324 1e-300 31622400'),
    dead_retention_seconds: words('0 5e-324 31622400'),
    alert_after_seconds: words('1 31622400 1e2'),
  }),
);

export const odd = fc.constantFrom(...ODD);

const member = (name: string) =>
  fc
    .oneof(
      { weight: 12, arbitrary: fc.constantFrom(...(TYPICAL.get(name) ?? ODD)) },
      { weight: 1, arbitrary: odd },
    )
    .map((value) => `"${name}":${value}`);

const extraName = fc.oneof(
  { weight: 9, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
);

/** The text of an object with up to `most` of these members, and sometimes an unknown one. */
export const oddObject = (names: string[], most = names.length) =>
  fc
    .tuple(fc.subarray(names, { maxLength: most }), extraName)
    .chain(([chosen, extra]) => fc.tuple(...[...chosen, ...(extra ? [extra] : [])].map(member)))
    .map((members) => `{${members.join(',')}}`);
