import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cargoBuild, goBuild, pipInstall } from './compilers.ts';
import type { Sdk } from './sdks.ts';
import { cached, copyClient, document, document30, emptyFolder, here, run } from './support.ts';
import { buildTypeScript, typescriptTool } from './typescript.ts';

const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const OPENAPI_PYTHON_CLIENT = 'openapi-python-client==0.29.1';

export const otherGenerators: Sdk[] = [
  {
    generator: 'openapi-typescript, with openapi-fetch',
    needs: [],
    isQuick: true,
    build: () =>
      buildTypeScript('openapi-fetch', (to) =>
        typescriptTool('openapi-typescript', document, '-o', join(to, 'schema.d.ts')),
      ),
  },
  {
    generator: '@hey-api/openapi-ts',
    needs: [],
    isQuick: true,
    build: () =>
      buildTypeScript('hey-api', (to) => {
        const options = ['-c', '@hey-api/client-fetch', '--no-log-file'];
        return typescriptTool('openapi-ts', '-i', document, '-o', to, ...options);
      }),
  },
  {
    generator: 'openapi-python-client',
    needs: ['python', 'pip'],
    isQuick: true,
    async build() {
      const packages = await cached(OPENAPI_PYTHON_CLIENT, (to) => pipInstall(to, OPENAPI_PYTHON_CLIENT));
      const folder = await emptyFolder('openapi-python-client');
      const env = { PYTHONPATH: `${folder}:${packages}`, PYTHONDONTWRITEBYTECODE: '1' };
      // It knows lines of JSON by no name of its own.
      const config = join(folder, 'config.json');
      await writeFile(config, '{"content_type_overrides": {"application/x-ndjson": "application/json"}}');
      const to = [
        '--output-path',
        join(folder, 'dibs_client'),
        '--config',
        config,
        '--meta',
        'none',
        '--fail-on-warning',
      ];
      await run('python3', ['-m', 'openapi_python_client', 'generate', '--path', document, ...to], {
        env: { ...env, PATH: `${join(packages, 'bin')}:${process.env.PATH}` },
      });
      return { command: 'python3', args: [join(here, 'clients/openapi-python-client/cycle.py')], env };
    },
  },
  {
    generator: 'oapi-codegen',
    needs: ['go'],
    isQuick: true,
    async build() {
      const folder = await emptyFolder('oapi-codegen');
      await copyClient('oapi-codegen', folder);
      const to = ['-generate', 'types,client', '-package', 'dibs', '-o', 'dibs/dibs.gen.go', document];
      await run('mkdir', ['dibs'], { cwd: folder });
      await run('go', ['run', OAPI_CODEGEN, ...to], { cwd: folder, env: { GOFLAGS: '-mod=mod' } });
      return { command: await goBuild(folder) };
    },
  },
  {
    generator: 'progenitor',
    needs: ['rust 1.88'],
    async build() {
      const folder = await emptyFolder('progenitor');
      await copyClient('progenitor', folder);
      await cp(document30, join(folder, 'openapi.json'));
      return { command: await cargoBuild(folder, 'progenitor-cycle') };
    },
  },
];
