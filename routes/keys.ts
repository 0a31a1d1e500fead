import { Type } from 'typebox';
import type { Access } from '../src/access/access.ts';
import { canMakeKeys } from '../src/access/keyAdmin.ts';
import { isUuid } from '../src/ids.ts';
import { pageOf } from './http/answers/cursor.ts';
import { invalidPart } from './http/answers/invalidPart.ts';
import type { App } from './http/connection/fastify.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import { pageQuery, ref } from './schemas/common.ts';
import { KeyId, KeyPage, KeyRotation, MadeKey, NewKey } from './schemas/key.ts';

const tags = ['Access'];

/** No cache on the way keeps an answer with a key. */
const noStore = {
  'Cache-Control': { type: 'string', enum: ['no-store'], description: 'The answer has a secret.' },
};

const locksOut = () =>
  invalidPart([
    {
      in: 'body',
      path: '/scopes',
      message:
        'must include admin, and queues must be all: this is the first key. From then on every request needs a key, and only such a key can create others',
    },
  ]);

export function keyRoutes(app: App, access: Pick<Access, 'awaitsFirstKey'>): void {
  app.route({
    method: 'GET',
    url: '/keys',
    config: { verb: 'listKeys' },
    schema: {
      querystring: Type.Object(pageQuery, { additionalProperties: false }),
      ...operation({
        operationId: 'listKeys',
        tags,
        summary: 'List access keys, oldest first',
        description: 'Needs a key with the scope `admin` for all queues, as all operations on keys do.',
        answers: { 200: answer(ref(KeyPage), 'A page of access keys.') },
      }),
    },
    handler: async (request) => {
      const { items, next } = await pageOf({ of: 'keys' }, request.query, {
        list: async (limit, after) => ({ items: await request.verbs.listKeys({ limit, after }) }),
        keyOf: ({ id }) => id,
        isKey: isUuid,
      });
      return { keys: items, next_cursor: next };
    },
  });

  app.route({
    method: 'POST',
    url: '/keys',
    config: { verb: 'createKey' },
    schema: {
      body: ref(NewKey),
      ...operation({
        operationId: 'createKey',
        tags,
        summary: 'Create an access key',
        description:
          'The answer shows the key, once. From the first key on, every request needs one, on every replica within a second. So ' +
          'the first one must have the scope `admin` for all queues: it makes the others.',
        answers: { 201: answer(ref(MadeKey), 'The access key, with its `key`.', noStore) },
        refusals: ['key_name_taken', 'too_many_keys'],
      }),
    },
    handler: async (request, reply) => {
      if (access.awaitsFirstKey() && !canMakeKeys(request.body)) throw locksOut();
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send(await request.verbs.createKey(request.body));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/keys/:id',
    config: { verb: 'revokeKey' },
    schema: {
      params: KeyId,
      ...operation({
        operationId: 'revokeKey',
        tags,
        summary: 'Revoke an access key',
        description: 'Every replica refuses it within a second. It stays in the list for 7 days.',
        answers: { 204: { type: 'null', description: 'Revoked.' } },
        refusals: ['key_not_found'],
      }),
    },
    handler: async (request, reply) => {
      await request.verbs.revokeKey(request.params);
      return reply.code(204).send();
    },
  });

  app.route({
    method: 'POST',
    url: '/keys/:id/rotate',
    config: { verb: 'rotateKey' },
    schema: {
      params: KeyId,
      body: ref(KeyRotation),
      ...operation({
        operationId: 'rotateKey',
        tags,
        summary: 'Give an access key a new secret',
        description:
          'Name, scopes and queues stay. The old key stays valid for `overlap_seconds`. A key from before an earlier rotation is refused from now on.',
        answers: {
          200: answerLike(
            MadeKey,
            { old_key_expires_at: '2026-11-22T09:30:00.000Z' },
            'The access key, with its new `key`.',
            noStore,
          ),
        },
        refusals: ['key_not_found'],
      }),
    },
    handler: async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send(await request.verbs.rotateKey({ ...request.params, ...request.body })),
  });
}
