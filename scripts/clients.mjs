// Writes the types and operations of the client libraries from openapi/openapi.json. With --check, it only fails if they are
// stale. Why no public generator: docs/decisions/0036-client-libraries.md.

import { readFileSync } from 'node:fs';
import { goOf } from './clients/go.mjs';
import { modelOf } from './clients/model.mjs';
import { pythonOf } from './clients/python.mjs';
import { typescriptOf } from './clients/typescript.mjs';
import { writeCurrent } from './current.mjs';

const model = modelOf(JSON.parse(readFileSync('openapi/openapi.json', 'utf8')));
writeCurrent('clients/typescript/src/generated.ts', typescriptOf(model));
writeCurrent('clients/python/src/dibs_client/generated.py', pythonOf(model));
writeCurrent('clients/go/generated.go', goOf(model));
