// Writes openapi/openapi.json from the routes as built in dist/; with --check, fails when it is stale.

import { pino } from 'pino';
import { openApiDocument } from '../dist/routes/app.js';
import { writeCurrent } from './current.mjs';

const document = await openApiDocument(pino({ level: 'silent' }));
writeCurrent('openapi/openapi.json', `${JSON.stringify(document, null, 2)}\n`);
