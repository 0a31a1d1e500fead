import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import {
  buildTypeScript,
  document,
  generator,
  installGenerators,
  run,
  startServiceForClients,
} from './support.ts';

let service: Awaited<ReturnType<typeof startServiceForClients>>;

async function tryClient(...client: Parameters<typeof buildTypeScript>): Promise<void> {
  await service.goThrough(process.execPath, [await buildTypeScript(...client)]);
}

beforeAll(async () => {
  service = await startServiceForClients();
  await installGenerators();
});
afterAll(() => service.stop());

test('openapi-fetch with the types of openapi-typescript goes through a whole cycle', () =>
  tryClient('openapi-fetch', (to) =>
    run(generator('openapi-typescript'), [document, '-o', join(to, 'schema.d.ts')]),
  ));

test('a client of @hey-api/openapi-ts goes through a whole cycle', () =>
  tryClient('hey-api', (to) =>
    run(generator('openapi-ts'), ['-i', document, '-o', to, '-c', '@hey-api/client-fetch', '--no-log-file']),
  ));
