// Writes openapi/openapi.json from the routes as built in dist/; with --check, fails when it is stale.

import { pino } from 'pino';
import { buildApp } from '../dist/routes/app.js';
import { writeCurrent } from './current.mjs';

const app = await buildApp({ engine: {}, logger: pino({ level: 'silent' }), maxPayloadBytes: 2 ** 20 });
writeCurrent('openapi/openapi.json', `${JSON.stringify(app.swagger(), null, 2)}\n`);
await app.close();
