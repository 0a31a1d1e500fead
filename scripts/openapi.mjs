// Writes openapi/openapi.json from the routes built in dist/. With --check, it only fails if that is stale.

import { pino } from 'pino';
import { openApiDocument } from '../dist/routes/app.js';
import { writeCurrent } from './current.mjs';

const document = await openApiDocument(pino({ level: 'silent' }));
writeCurrent('openapi/openapi.json', `${JSON.stringify(document, null, 2)}\n`);
