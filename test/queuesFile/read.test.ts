import { describe, expect, test } from 'vitest';
import { FileError } from '../../queuesFile/problem.ts';
import { readQueuesFile } from '../../queuesFile/read.ts';
import { MOST_BYTES } from '../../queuesFile/yaml.ts';

const read = (text: string) => readQueuesFile(Buffer.from(text)).wish;

/** What is said of a file that cannot be read. */
function refusal(text: string | Uint8Array): string {
  try {
    readQueuesFile(typeof text === 'string' ? Buffer.from(text) : text);
  } catch (error) {
    if (error instanceof FileError) return error.message;
    throw error;
  }
  throw new Error('The file was read.');
}

const schedule = (job: string, more = '') =>
  `schedules:\n  nightly:\n    cron: "0 3 * * *"\n${more}    job: ${job}\n`;
const payloadOf = (job: string) => {
  const found = read(schedule(job)).schedules?.get('nightly');
  return (found?.job.payload as unknown as { text: string } | undefined)?.text;
};

describe('a queues file', () => {
  test('says how queues, schedules and keys should be; what it leaves out is undefined', () => {
    const wish = read(
      `queues:\n  mail: { max_leased: 5 }\n  "1": {}\n${schedule('{ queue: mail }')}keys:\n  mailer: { scopes: [produce] }\n`,
    );
    expect([...(wish.queues?.keys() ?? [])].sort()).toEqual(['1', 'mail']);
    expect(wish.queues?.get('mail')).toEqual({ max_leased: 5 });
    expect(wish.schedules?.get('nightly')).toEqual({ cron: '0 3 * * *', job: { queue: 'mail' } });
    expect(wish.keys?.get('mailer')).toEqual({ scopes: ['produce'] });
    expect(read('queues: {}\n')).toEqual({ queues: new Map() });
  });

  test('anchors share fields, and a field of its own counts before one that is merged', () => {
    const { queues } = read(
      'queues:\n  a: &a\n    max_leased: 5\n    backoff: &slow { kind: linear, base_seconds: 60 }\n  b:\n    max_leased: 7\n    <<: *a\n  c:\n    <<: [{ max_ready: 9 }, *a]\n  d: { backoff: *slow }\n',
    );
    const backoff = { kind: 'linear', base_seconds: 60 };
    expect(queues?.get('b')).toEqual({ max_leased: 7, backoff });
    expect(queues?.get('c')).toEqual({ max_ready: 9, max_leased: 5, backoff });
    expect(queues?.get('d')).toEqual({ backoff });
  });

  test('a payload in JSON stays exactly as it is, and one in YAML becomes JSON with every digit', () => {
    const json = '{"n": 12345678901234567890, "f":1.10,"a":1,"a":2,"e":1e400,"s":"\\u0000\\ud800"}';
    expect(payloadOf(`{ payload: ${json} }`)).toBe(json);
    expect(
      payloadOf(
        '\n      payload:\n        n: 12345678901234567890\n        f: 1.10\n        x: 0x1F\n        t: [yes, true, ~]',
      ),
    ).toBe('{"n":12345678901234567890,"f":1.10,"x":31,"t":["yes",true,null]}');
    expect(payloadOf('{ payload: hello }')).toBe('"hello"');
    expect(payloadOf('{ payload: null }')).toBe('null');
  });
});

describe('what is wrong is named with its line and column', () => {
  test.each([
    [
      'an unknown field',
      'queues:\n  mail:\n    max_lease: 5\n',
      'line 3, column 5: /queues/mail/max_lease is not a known field',
    ],
    ['an unknown section', 'queue:\n  mail: {}\n', 'line 1, column 1: /queue is not a known field'],
    [
      'a wrong type',
      'queues:\n  mail:\n    max_leased: "5"\n',
      'line 3, column 5: /queues/mail/max_leased must be an integer',
    ],
    [
      'a wrong type inside',
      'queues:\n  mail:\n    backoff:\n      kind: never\n',
      'line 4, column 7: /queues/mail/backoff/kind must be one of exponential, linear, constant',
    ],
    [
      'a number that is too large',
      'queues:\n  mail: { max_leased: .inf }\n',
      'line 2, column 11: /queues/mail/max_leased must be an integer',
    ],
    ['null', 'queues:\n  mail:\n', 'line 2, column 3: /queues/mail must be an object'],
    [
      'the name of a queue',
      'queues:\n  "a b": {}\n',
      'line 2, column 3: /queues/a b must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -',
    ],
    [
      'a dead letter queue that is its own',
      'queues:\n  mail:\n    dead_letter_queue: mail\n',
      'line 3, column 5: /queues/mail/dead_letter_queue must not lead back to this queue: mail → mail',
    ],
    [
      'dead letter queues in a circle',
      'queues:\n  a: { dead_letter_queue: b }\n  b: { dead_letter_queue: a }\n',
      'line 2, column 8: /queues/a/dead_letter_queue must not lead back to this queue: a → b → a',
    ],
    [
      'a circle of three, and a queue that leads into it',
      'queues:\n  d: { dead_letter_queue: a }\n  c: { dead_letter_queue: a }\n  a: { dead_letter_queue: b }\n  b: { dead_letter_queue: c }\n',
      'line 4, column 8: /queues/a/dead_letter_queue must not lead back to this queue: a → b → c → a',
    ],
    ['a list', '- mail\n', 'line 1, column 1: the file must be an object'],
    ['nothing', '', 'line 1, column 1: the file must be an object'],
    [
      'a missing field',
      'schedules:\n  nightly:\n    cron: "0 3 * * *"\n',
      'line 2, column 3: /schedules/nightly/job is required',
    ],
    [
      'a cron',
      schedule('{}').replace('0 3 *', '0 33 *'),
      'line 3, column 5: /schedules/nightly/cron has "33" where the hour stands',
    ],
    [
      'a cron that never ticks',
      schedule('{}').replace('0 3 * *', '0 3 31 2'),
      'line 3, column 5: /schedules/nightly/cron does not tick in the next 40 years',
    ],
    [
      'a time zone',
      schedule('{}', '    timezone: Europe/Bonn\n'),
      'line 4, column 5: /schedules/nightly/timezone must be a time zone of the IANA database',
    ],
    [
      'run_at',
      schedule('{ run_at: "2026-11-21T09:30:00Z" }'),
      'line 4, column 12: /schedules/nightly/job/run_at is not a known field',
    ],
    [
      'unique_for_seconds alone',
      schedule('{ unique_for_seconds: 5 }'),
      'line 4, column 12: /schedules/nightly/job/unique_for_seconds needs a unique_key',
    ],
    [
      'on_duplicate alone',
      schedule('{ on_duplicate: replace }'),
      'line 4, column 12: /schedules/nightly/job/on_duplicate needs a unique_key',
    ],
    [
      'a batch',
      schedule('{ batch: 01a1fd45-3ed9-708c-acfd-71cdf5000001 }'),
      'line 4, column 12: /schedules/nightly/job/batch is not a known field',
    ],
    [
      'a group_concurrency of 0',
      'queues:\n  mail: { group_concurrency: 0 }\n',
      'line 2, column 11: /queues/mail/group_concurrency must be at least 1',
    ],
    [
      'a header that is a number',
      schedule('{ headers: { tenant: 17 } }'),
      'line 4, column 23: /schedules/nightly/job/headers/tenant must be a string',
    ],
    [
      'a payload that JSON has not',
      schedule('{ payload: [.nan] }'),
      'line 4, column 22: .nan is no number of JSON',
    ],
    [
      'a scope',
      'keys:\n  a: { scopes: [write] }\n',
      'line 2, column 17: /keys/a/scopes/0 must be one of produce, consume, read, admin',
    ],
    [
      'a queue that is there twice',
      'queues:\n  mail: {}\n  b: {}\n  mail: {}\n',
      'line 4, column 3: "mail" is there twice: in line 2, too',
    ],
    [
      'a field that is there twice',
      'queues:\n  mail:\n    max_leased: 1\n    max_leased: 2\n',
      'line 4, column 5: "max_leased" is there twice: in line 3, too',
    ],
    ['what is no YAML', 'queues:\n  mail: { max_leased: 5\n', 'line 3, column 1: '],
    ['a tab', 'queues:\n\tmail: {}\n', 'line 2, column 1: Tabs are not allowed as indentation'],
    [
      'two documents',
      'queues: {}\n---\nqueues: {}\n',
      'line 2, column 1: Source contains multiple documents',
    ],
    ['a tag', 'queues: !!js/function x\n', 'line 1, column 9: Unresolved tag'],
    [
      'a key that is no text',
      'queues:\n  ? [a]\n  : {}\n',
      'line 2, column 5: With stringKeys, all keys must be strings',
    ],
    [
      'an unknown anchor',
      'queues:\n  mail: *defaults\n',
      'line 2, column 9: *defaults has no anchor before it',
    ],
    [
      'a merge of a number',
      'queues:\n  mail: { <<: 5 }\n',
      'line 2, column 11: << takes a map, or a list of maps',
    ],
  ])('%s', (_, text, said) => {
    expect(refusal(text)).toContain(said);
    expect(refusal(text).split('\n')).toHaveLength(1);
  });

  test('each entry with a problem has its line', () => {
    expect(refusal('queues:\n  a: { x: 1 }\n  b: {}\n  c: { max_leased: 0 }\n')).toBe(
      'line 2, column 8: /queues/a/x is not a known field\nline 4, column 8: /queues/c/max_leased must be at least 1',
    );
    const many = Array.from({ length: 50 }, (_, i) => `  q${i}: { x: 1 }\n`).join('');
    expect(refusal(`queues:\n${many}`).split('\n').slice(-1)).toEqual(['and 30 more']);
  });

  test('what is no UTF-8', () => {
    expect(refusal(Buffer.from([0x71, 0xff]))).toBe('line 1, column 1: the file is not UTF-8');
  });
});

describe('what explodes is refused', () => {
  test.each([
    ['in a payload', 'payload'],
    ['in a field', 'headers'],
  ])('anchors of anchors %s', (_, field) => {
    const lines = Array.from({ length: 30 }, (_, i) =>
      i === 0
        ? '        - &a0 [x, x, x, x, x, x, x, x, x]'
        : `        - &a${i} [${Array(9).fill(`*a${i - 1}`)}]`,
    );
    expect(refusal(schedule(`\n      ${field}:\n${lines.join('\n')}`))).toMatch(
      /^line \d+, column \d+: the file becomes too large when its anchors are followed$/,
    );
  });

  test('one long text many times', () => {
    const lines = Array.from({ length: 1000 }, () => '        - *long\n').join('');
    const text = schedule(`\n      payload:\n        - &long ${'x'.repeat(100_000)}\n${lines}`);
    expect(refusal(text)).toContain('the file becomes too large when its anchors are followed');
  });

  test('an anchor in itself', () => {
    expect(refusal(schedule('{ payload: &a [*a] }'))).toContain('in itself');
    expect(refusal('queues: &a\n  mail: { <<: *a }\n')).toContain('in itself');
  });

  test('what nests too deep', () => {
    expect(refusal(schedule(`{ payload: ${'['.repeat(200)}a${']'.repeat(200)} }`))).toContain('levels deep');
    expect(refusal(`queues: ${'['.repeat(50_000)}`)).toContain('it nests too deep');
  });

  test('a file that is too large, and too many queues', () => {
    expect(refusal(`#${' '.repeat(MOST_BYTES)}`)).toBe(
      `line 1, column 1: the file is larger than ${MOST_BYTES} bytes`,
    );
    const many = Array.from({ length: 10_001 }, (_, i) => `  q${i}: {}\n`).join('');
    expect(refusal(`queues:\n${many}`)).toBe('line 1, column 1: /queues must have at most 10000 members');
  });
});
