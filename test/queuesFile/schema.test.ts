import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readQueuesFile } from '../../queuesFile/read.ts';
import { queuesFileSchema } from '../../routes/http/openapi/queuesFileSchema.ts';
import { textOf } from '../support/sources.ts';

const schema = JSON.parse(textOf('openapi/queues.schema.json'));
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);

describe('openapi/queues.schema.json', () => {
  test('is what the code says: `npm run generate` writes it', () => {
    expect(schema).toEqual(queuesFileSchema());
    const values = JSON.parse(textOf('deploy/helm/values.schema.json'));
    expect(values.definitions).toEqual(schema.definitions);
  });

  test('takes the example of docs/queues-as-code.md, as Dibs does', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(textOf('docs/queues-as-code.md')) ?? [];
    expect(isValid(parse(example))).toBe(true);
    const { wish } = readQueuesFile(Buffer.from(example));
    expect([...(wish.queues?.keys() ?? [])]).toEqual(['mail.welcome', 'mail.digest']);
  });

  test.each([
    ['{ queue: {} }'],
    ['{ queues: { mail: { max_lease: 5 } } }'],
    ['{ queues: { mail: { max_leased: "5" } } }'],
    ['{ queues: { "a b": {} } }'],
    ['{ queues: { mail: null } }'],
    ['{ schedules: { a: { cron: "0 3 * * *" } } }'],
    ['{ schedules: { a: { cron: "0 3 * * *", job: { run_at: "2026-11-21T09:30:00Z" } } } }'],
    ['{ keys: { a: { scopes: [write] } } }'],
  ])('refuses what Dibs refuses: %s', (text) => {
    expect(isValid(parse(text))).toBe(false);
    expect(() => readQueuesFile(Buffer.from(text))).toThrow();
  });
});
