// Writes openapi/openapi.json, and the same as OpenAPI 3.0, from the routes built in dist/. With --check, it only fails if that is stale.

import { pino } from 'pino';
import { openApiDocument } from '../dist/routes/app.js';
import { toOpenApi30 } from '../dist/routes/http/openapi/openapi30.js';
import { writeCurrent } from './current.mjs';

const document = await openApiDocument(pino({ level: 'silent' }));
writeCurrent('openapi/openapi.json', `${JSON.stringify(document, null, 2)}\n`);
writeCurrent('openapi/openapi-3.0.json', `${JSON.stringify(toOpenApi30(document), null, 2)}\n`);
