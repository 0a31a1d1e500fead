/* The bodies that take longest to read, of nearly 16 MiB each. */

const MOST = 16 * 2 ** 20 - 1024;
const PAYLOAD = 2 ** 20;

/** Repeats `part` up to `bytes`, between `start` and `end`. */
function filled(start, part, end, bytes) {
  const times = Math.floor((bytes - start.length - end.length) / part.length);
  return start + part.repeat(times) + end;
}

/** A batch of payloads of 1 MiB, as many as a body holds. */
function batchOf(payload) {
  const jobs = Array.from({ length: 15 }, () => `{"queue":"attack","payload":${payload}}`);
  return `{"jobs":[${jobs.join()}]}`;
}

const distinct = (count, name) => Array.from({ length: count }, (_, i) => `"${name(i)}":0`).join();
const keys = `{${distinct(90_000, (i) => `k${(i * 7919) % 90_000}`)}}`;

/** Each has a path and a body. */
export const BODIES = {
  'dense numbers': ['/jobs/batch', batchOf(filled('[0', ',0', ']', PAYLOAD))],
  'empty strings': ['/jobs/batch', batchOf(filled('[""', ',""', ']', PAYLOAD))],
  'long strings of escapes': ['/jobs/batch', batchOf(filled('"', '\\n', '"', PAYLOAD))],
  'long strings of \\u0000': ['/jobs/batch', batchOf(filled('"', '\\u0000', '"', PAYLOAD))],
  'characters of three bytes': ['/jobs/batch', batchOf(filled('"', '語', '"', PAYLOAD / 3))],
  'many keys': ['/jobs/batch', batchOf(keys)],
  'duplicate keys': ['/jobs/batch', batchOf(filled('{"a":0', ',"a":0', '}', PAYLOAD))],
  'nesting of 1000': [
    '/jobs/batch',
    batchOf(filled('[0', `,${'['.repeat(998)}${']'.repeat(998)}`, ']', PAYLOAD)),
  ],
  '1000 jobs of 16 KiB': [
    '/jobs/batch',
    `{"jobs":[${Array.from({ length: 1000 }, () => `{"queue":"attack","payload":${filled('"', 'x', '"', 16_000)}}`).join()}]}`,
  ],
  '1000 jobs with 32 headers': [
    '/jobs/batch',
    `{"jobs":[${Array.from({ length: 1000 }, () => `{"queue":"attack","headers":{${Array.from({ length: 32 }, (_, i) => `"h${i}":"${'x'.repeat(400)}"`).join()}}}`).join()}]}`,
  ],
  '16 million [': ['/jobs/batch', '['.repeat(MOST)],
  '1.15 million items': ['/jobs/batch', filled('{"jobs":[{}', ',{}', ']}', 3_450_000)],
  '1000 acks with results': [
    '/jobs/settle',
    `{"acks":[${Array.from({ length: 1000 }, (_, i) => `{"id":"019aa5b2-7c1e-7a3f-9d2c-4b1e5f0${String(i).padStart(5, '0')}","lease_token":"6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d","result":${filled('[""', ',""', ']', 16_000)}}`).join()}]}`,
  ],
  'an error of 16 MiB of escapes': [
    '/jobs/settle',
    `{"nacks":[{"id":"019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001","lease_token":"6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d","error":${filled('"', '\\n', '"', MOST - 1000)}}]}`,
  ],
  'a group of 16 MiB of escapes': [
    '/jobs/batch',
    `{"jobs":[{"group":${filled('"', '\\n', '"', MOST - 1000)}}]}`,
  ],
  '1000 acks with 95 follow-ups each': [
    '/jobs/settle',
    `{"acks":[${Array.from({ length: 1000 }, () => `{"id":"019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001","lease_token":"6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d","enqueue":[${'{},'.repeat(94)}{}]}`).join()}]}`,
  ],
  'a space of 16 MiB': ['/jobs/batch', `${' '.repeat(MOST - 100)}{"jobs":[{"queue":"attack"}]}`],
};

const quotes = filled('[""', ',""', ']', 16_000);

/** Bodies of `POST /jobs/settle` for 1000 leases: the list that they are in, and what stands beside each lease. */
export const SETTLEMENTS = {
  '1000 results full of quotes': ['acks', `"result":${quotes}`],
  '1000 texts of progress full of quotes': ['extends', `"lease_seconds":60,"progress":${quotes}`],
  '1000 errors full of quotes': ['nacks', `"error":${filled('"', '\\"', '"', 16_000)}`],
};
