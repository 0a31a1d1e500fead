import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../routes/app.ts';
import { type Method, type Service, startService } from '../support/service.ts';
import { SEVERAL } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: the tests look into every corner of the document.
type Json = any;

const FILE = 'openapi/openapi.json';
const text = readFileSync(FILE, 'utf8');
const document: Json = JSON.parse(text);
const schemas: Record<string, Json> = document.components.schemas;

interface Operation {
  name: string;
  method: Method;
  path: string;
  operation: Json;
}
const operations: Operation[] = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({
    name: operation.operationId,
    method: method.toUpperCase() as Method,
    path,
    operation,
  })),
);
const bodies = operations.filter(({ operation }) => operation.requestBody);

const answersOf = ({ operation }: Operation) =>
  Object.entries<Json>(operation.responses).map(([status, answer]) => ({
    status: Number(status),
    answer: answer.$ref ? document.components.responses[answer.$ref.split('/').at(-1)] : answer,
  }));
const successesOf = (entry: Operation) =>
  answersOf(entry).flatMap(({ status, answer }) => (status < 300 ? [answer] : []));
const isName = (schema: Json) =>
  Object.keys(schema).join() === '$ref' && schema.$ref.startsWith('#/components/schemas/');
const resolve = (schema: Json): Json => schemas[schema.$ref.split('/').at(-1)];

/** Every schema inside a schema, with the path that leads to it. */
function* subschemas(schema: Json, at: string): Generator<[string, Json]> {
  for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) {
    yield [`${at}.${name}`, property];
    yield* subschemas(property, `${at}.${name}`);
  }
  for (const key of ['items', 'additionalProperties']) {
    if (typeof schema[key] !== 'object') continue;
    yield [`${at}.${key}`, schema[key]];
    yield* subschemas(schema[key], `${at}.${key}`);
  }
}
const everySubschema = Object.entries(schemas).flatMap(([name, schema]) => [...subschemas(schema, name)]);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ ...document, $id: 'http://dibs.test/openapi.json' });
function expectValid(schema: Json, example: unknown) {
  const validate = ajv.compile({ $ref: `http://dibs.test/openapi.json${schema.$ref}` });
  validate(example);
  expect(validate.errors).toBeNull();
}

let service: Service;
beforeAll(async () => {
  service = await startService({ auth: 'off' });
});
afterAll(() => service.stop());

describe('the document', () => {
  test('is valid OpenAPI', async () => {
    const result = await new Validator().validate(JSON.parse(text));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
  });

  test('is what the routes generate now', async () => {
    const now = await openApiDocument(pino({ level: 'silent' }));
    expect(text).toBe(`${JSON.stringify(now, null, 2)}\n`);
  });

  test('has only schemas that are valid JSON Schema: a replica does not check them', () => {
    const parameters = operations.flatMap(({ operation }) => operation.parameters ?? []);
    const all = [...Object.values(schemas), ...parameters.map(({ schema }: Json) => schema)];
    expect(all.length).toBeGreaterThan(40);
    for (const schema of all) {
      ajv.validateSchema(schema);
      expect(ajv.errors, JSON.stringify(schema)).toBeNull();
    }
  });

  test('is served at /openapi.json', async () => {
    const answer = await service.call('GET', '/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.body).toEqual(document);
  });

  test('describes every schema, and every field that has no schema with a name', () => {
    for (const [name, schema] of Object.entries(schemas)) expect(schema.description, name).toMatch(/\S/);
    for (const [at, schema] of everySubschema)
      if (!schema.$ref && !/\.(items|additionalProperties)$/.test(at))
        expect(schema.description, at).toMatch(/\S/);
  });

  test('says where Dibs is, whose it is and under which licence', () => {
    expect(document.servers.map(({ url }: Json) => url)).toEqual(['/', 'http://127.0.0.1:8080']);
    expect(document.info).toMatchObject({ contact: {}, license: { name: 'MIT' } });
  });

  test('shows a true problem document for each code, under the status of that code', () => {
    const { responses } = document.components;
    const shown = Object.entries<Json>(responses).flatMap(([name, { content }]) =>
      Object.entries<Json>(content['application/problem+json'].examples).map(([code, { value }]) => ({
        name,
        code,
        value,
      })),
    );
    expect(shown.length).toBeGreaterThan(20);
    for (const { name, code, value } of shown) {
      expectValid({ $ref: '#/components/schemas/Problem' }, value);
      expect(value).toMatchObject({ code, type: `urn:problem-type:dibs:${code}` });
      const users = operations.flatMap(answersOf).filter(({ answer }) => answer === responses[name]);
      expect(users.length).toBeGreaterThan(0);
      for (const { status } of users) expect(status).toBe(value.status);
    }
  });

  test('leads from an enqueue and from a claim to what follows', () => {
    const linksOf = (name: string, status: number) =>
      Object.values<Json>(operations.find((entry) => entry.name === name)?.operation.responses[status].links);
    const links = [...linksOf('enqueueJob', 201), ...linksOf('claimJobs', 200)];
    expect(links.map(({ operationId }) => operationId)).toEqual([
      'getJob',
      'explainJob',
      'cancelJob',
      'ackJob',
      'nackJob',
      'releaseJob',
      'extendLease',
    ]);
    for (const { operationId, parameters } of links) {
      const { operation } = operations.find(({ name }) => name === operationId) as Operation;
      expect(operation.parameters.map(({ name }: Json) => name)).toEqual(
        expect.arrayContaining(Object.keys(parameters)),
      );
    }
  });

  test('is there as OpenAPI 3.0, too, which is valid and served', async () => {
    const old = JSON.parse(readFileSync('openapi/openapi-3.0.json', 'utf8'));
    const result = await new Validator().validate(structuredClone(old));
    expect(result.errors).toBeUndefined();
    expect(old.openapi).toBe('3.0.3');
    expect((await service.call('GET', '/openapi-3.0.json')).body).toEqual(old);
    // It has the same operations, fields and nullable fields.
    const names = (d: Json) =>
      Object.values<Json>(d.paths).flatMap((path) => Object.values<Json>(path).map((o) => o.operationId));
    expect(names(old)).toEqual(names(document));
    for (const [name, schema] of Object.entries(schemas)) {
      const then = old.components.schemas[name];
      expect(Object.keys(then.properties ?? {}), name).toEqual(Object.keys(schema.properties ?? {}));
      for (const [field, { type }] of Object.entries<Json>(schema.properties ?? {}))
        expect(then.properties[field].nullable ?? false, `${name}.${field}`).toBe(
          [type].flat().includes('null'),
        );
    }
  });

  test('gives every operation a name of its own', () => {
    expect(operations.length).toBeGreaterThan(20);
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  });
});

test('no two operations, and no two answers of one, show the same example', () => {
  const shown = operations.flatMap((entry) =>
    successesOf(entry).flatMap(({ content }) => {
      const { example, schema } = content?.['application/json'] ?? {};
      return schema ? [JSON.stringify(example ?? resolve(schema).examples[0])] : [];
    }),
  );
  // The two probes answer the same.
  expect(shown.filter((example, i) => shown.indexOf(example) !== i)).toEqual(['{"status":"ok"}']);
});

describe.each(operations)('$name', (entry) => {
  const { operation } = entry;

  test('has a name, a summary and a tag with a description', () => {
    expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(operation.summary).toMatch(/\S/);
    expect(operation.tags).toHaveLength(1);
    expect(document.tags.map((tag: Json) => tag.name)).toContain(operation.tags[0]);
  });

  test('is described', () => {
    expect(operation.description).toMatch(/\S/);
  });

  test('no parameter has an example: tools would send it', () => {
    for (const { schema, example, examples } of operation.parameters ?? [])
      expect({ example, examples, in: (schema.$ref ? resolve(schema) : schema).examples }).toEqual({});
  });

  test('describes each answer and each parameter', () => {
    for (const { answer } of answersOf(entry)) expect(answer.description).toMatch(/\S/);
    for (const { schema, description } of operation.parameters ?? [])
      expect(description ?? (schema.$ref && resolve(schema).description)).toMatch(/\S/);
  });

  test('shows a valid example of its body and of each success', () => {
    expect(successesOf(entry).length).toBeGreaterThan(0);
    for (const part of [operation.requestBody, ...successesOf(entry)]) {
      const shown = part?.content?.['application/json'];
      if (shown === undefined) continue;
      const examples = shown.example ? [shown.example] : resolve(shown.schema).examples;
      expect(examples?.length).toBeGreaterThan(0);
      for (const example of examples) expectValid(shown.schema, example);
    }
  });

  test('lists every way in which it can fail, each with a problem document', () => {
    const failures = answersOf(entry).filter(({ status }) => status >= 300);
    for (const { answer } of failures) {
      const { schema, examples } = answer.content['application/problem+json'];
      const code = { enum: Object.keys(examples) };
      expect(schema).toEqual({
        $ref: '#/components/schemas/Problem',
        patternProperties: { '^code$': code },
      });
    }
    const isAlive = operation.operationId === 'getHealth';
    const statuses = failures.map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([400, 500, ...(isAlive ? [] : [503])]));
    const ofBodies = operation.requestBody ? [413, 415] : [];
    expect(statuses.filter((status) => status === 413 || status === 415)).toEqual(ofBodies);
    const outage = failures.find(({ status }) => status === 503);
    expect(Object.keys(outage?.answer.headers ?? {})).toEqual(isAlive ? [] : ['Retry-After']);
    // Each refers to one description for all operations.
    for (const { status } of failures)
      expect(operation.responses[status].$ref).toMatch(/^#\/components\/responses\//);
  });

  test('refers to named schemas only', () => {
    const contents = [operation.requestBody, ...successesOf(entry)]
      .flatMap((part) => Object.values<Json>(part?.content ?? {}))
      .map(({ schema }) => schema);
    for (const schema of contents) expect(schema).toSatisfy(isName);
  });
});

test.each(bodies)('$name refuses a body that is not JSON, as the document says', async (entry) => {
  const path = entry.path.replaceAll(/\{\w+\}/g, 'some');
  const asText = await service.call(entry.method, path, 'some', { 'content-type': 'text/plain' });
  expect(asText).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  const broken = await service.call(entry.method, path, '{');
  expect(broken).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
});

test('no example of a body traps who sends it as it is: none waits, none destroys work, and none starts an act on many jobs', () => {
  const destroying = ['ready', 'scheduled', 'blocked', 'dead'];
  for (const { name, operation } of bodies)
    for (const example of resolve(operation.requestBody.content['application/json'].schema).examples) {
      const { states = [], verb, dry_run } = example;
      expect({ name, waits: JSON.stringify(example).includes('wait_seconds') }).toEqual({
        name,
        waits: false,
      });
      expect({ name, states: states.filter((state: string) => destroying.includes(state)) }).toEqual({
        name,
        states: [],
      });
      if (verb !== undefined) expect({ name, dry_run }).toEqual({ name, dry_run: true });
    }
});

test.each(bodies)('$name accepts the example of its body', async ({ name, method, path, operation }) => {
  const [example] = resolve(operation.requestBody.content['application/json'].schema).examples;
  // There is nothing to claim, so no claim waits, nor one inside of a settle.
  const text = JSON.stringify(example, (field, value) => (field === 'wait_seconds' ? 0 : value));
  const answer = await service.call(method, path.replaceAll(/\{\w+\}/g, 'some'), text);
  if (name === 'relocateQueue' && !SEVERAL) expect(answer.body.errors[0].path).toBe('/to');
  else expect([200, 201, 202, 404]).toContain(answer.status);
});

test('the document says which bodies may be left out, and the service agrees', async () => {
  const optional: string[] = [];
  for (const { name, method, path, operation } of bodies) {
    const answer = await service.call(method, path.replaceAll(/\{\w+\}/g, 'some'));
    const refused = answer.status === 400 && answer.body.errors[0].path === '';
    expect({ name, required: operation.requestBody.required }).toEqual({ name, required: refused });
    if (!refused) optional.push(name);
  }
  expect(optional).toEqual(['claimJobs', 'redriveQueue', 'holdSession']);
});

/** Without each of these, some generator writes code that reads badly or does not compile. */
describe('for generators of clients', () => {
  const offenders = (isBad: (schema: Json) => boolean) =>
    everySubschema.filter(([, schema]) => isBad(schema)).map(([at]) => at);

  test('every object has a name', () => {
    expect(everySubschema.length).toBeGreaterThan(100);
    expect(offenders((schema) => 'properties' in schema)).toEqual([]);
  });

  test('no schema is a choice of schemas', () => {
    const words = ['anyOf', 'oneOf', 'allOf', 'not', 'const'];
    expect(offenders((schema) => words.some((word) => word in schema))).toEqual([]);
  });

  test('no text ends a comment', () => {
    expect(text).not.toContain('*/');
  });

  test('no pattern has an escape that PCRE does not read', () => {
    const patterns = [...text.matchAll(/"pattern": (".*")/g)].map(([, pattern]) =>
      JSON.parse(pattern as string),
    );
    expect(patterns.length).toBeGreaterThan(5);
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\u|\\p|\\d|\\w|\(\?/);
  });

  test('no enum without a name makes a constant of a common word', () => {
    const bare = everySubschema.filter(([, schema]) => schema.enum && !schema['x-enum-varnames']);
    const words = ['body', 'ok', 'payload', 'query', 'path', 'header'];
    expect(bare.flatMap(([, schema]) => schema.enum).filter((value) => words.includes(value))).toEqual([]);
  });

  test('no optional field of a body is an enum without a name: C# writes it where it is left out, and throws', () => {
    const left = Object.entries(schemas).flatMap(([name, { properties = {}, required = [] }]) =>
      Object.keys(properties)
        .filter((field) => properties[field].enum && !required.includes(field))
        .map((field) => `${name}.${field}`),
    );
    // No client sends a problem.
    expect(left).toEqual(['Problem.outcome']);
  });

  test('no list may be longer than the number of values that its items have', () => {
    const lists = everySubschema.filter(([, schema]) => schema.items?.enum && schema.maxItems !== undefined);
    expect(lists.length).toBeGreaterThan(0);
    for (const [at, { items, maxItems }] of lists) expect(maxItems, at).toBe(items.enum.length);
  });

  test('no field has a default: generators would make it required', () => {
    expect(offenders((schema) => 'default' in schema)).toEqual([]);
  });

  test('every number is a double', () => {
    const isNumber = (schema: Json) => [schema.type].flat().includes('number');
    expect(offenders((schema) => isNumber(schema) && schema.format !== 'double')).toEqual([]);
  });

  test('no schema has the name of the constructor of another', () => {
    for (const name of Object.keys(schemas)) expect(schemas).not.toHaveProperty(`New${name}`);
  });

  test('no two named enums share a value: Go would get two constants of the same name', () => {
    const values = Object.values(schemas).flatMap((schema) => schema.enum ?? []);
    expect(new Set(values).size).toBe(values.length);
  });

  test('the examples of every named schema are valid', () => {
    for (const [name, schema] of Object.entries(schemas))
      for (const example of schema.examples ?? [])
        expectValid({ $ref: `#/components/schemas/${name}` }, example);
  });
});

describe('Swagger UI', () => {
  test('is served at /docs, with all the files it loads', async () => {
    const page = await service.app.inject('/docs');
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file as string);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const answer = await service.app.inject(new URL(file, 'http://dibs.test/docs').pathname);
      expect(answer.statusCode, file).toBe(200);
    }
    expect((await service.app.inject('/docs/json')).json()).toEqual(document);
  });

  test('says Dibs, and tries with no example that traps: no header is prefilled', async () => {
    expect((await service.app.inject('/docs')).body).toContain('<title>Dibs API</title>');
    const headers = Object.values(document.paths as Record<string, Json>).flatMap((path) =>
      Object.values(path as Record<string, Json>).flatMap(({ parameters = [] }) =>
        parameters.filter((parameter: Json) => parameter.in === 'header'),
      ),
    );
    expect(headers.map(({ name }: Json) => name)).toEqual(
      expect.arrayContaining(['Idempotency-Key', 'Prefer']),
    );
    const filled = headers.filter(
      ({ example, examples, schema }: Json) => example ?? examples ?? schema.examples ?? schema.default,
    );
    expect(filled).toEqual([]);
  });
});
