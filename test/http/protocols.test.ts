import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { receiveRequests, restApi } from '../../routes/app.ts';
import { type App, createApp } from '../../routes/http/connection/fastify.ts';
import { type Service, startService } from '../support/service.ts';

/*
 * A second protocol on the same port: lines of text, and a password of its own.
 */

let service: Service;
let app: App;
beforeAll(async () => {
  service = await startService({ auth: 'keys' });
  const logger = pino({ level: 'silent' });
  const options = { engine: service.engine, logger, maxPayloadBytes: 1000, limits: { maxHeaders: 20 } };
  app = createApp(logger);
  const refuseOtherMethods = await receiveRequests(app, options);
  await app.register((rest) => restApi(rest as unknown as App, options));
  await app.register(async (lines) => {
    lines.addContentTypeParser('text/plain', { parseAs: 'string' }, (_, body, done) => done(null, body));
    lines.setErrorHandler((error: Error, _, reply) =>
      reply.code(400).type('text/plain').send(`- ${error.message}`),
    );
    lines.addHook('onRequest', async ({ headers }) => {
      if (headers.password !== 'sesame') throw new Error('who is it?');
    });
    lines.post('/lines', async (request) => `+ ${(request.body as string).split('\n').length}`);
  });
  refuseOtherMethods();
  await app.ready();
});
afterAll(async () => {
  await app.close();
  await service.stop();
});

const send = (url: string, headers: Record<string, string>, payload: string) =>
  app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'text/plain', ...headers } });

test('another protocol has a parser, errors and authentication of its own', async () => {
  expect(await send('/lines', { password: 'sesame' }, 'a\nb')).toMatchObject({
    statusCode: 200,
    body: '+ 2',
  });
  expect(await send('/lines', {}, 'a')).toMatchObject({ statusCode: 400, body: '- who is it?' });
});

test('the REST API beside it takes JSON only, with its own problems', async () => {
  const answer = await send('/jobs', { password: 'sesame' }, 'a');
  expect(answer.json()).toMatchObject({ code: 'unsupported_media_type' });
});

test('what holds for the port holds for both: limits of headers, and 405', async () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`x-${i}`, 'x']));
  for (const url of ['/lines', '/jobs'])
    expect((await send(url, { ...many, password: 'sesame' }, 'a')).body, url).toContain(
      'more than 20 headers',
    );
  const other = await app.inject({ method: 'DELETE', url: '/lines' });
  expect(other).toMatchObject({ statusCode: 405, headers: { allow: 'POST' } });
});
