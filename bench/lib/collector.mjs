import { createServer } from 'node:http';
import { atEnd } from './cleanup.mjs';

/** Starts a collector of traces that forgets what it is sent. Returns its address. */
export async function startCollector() {
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  await new Promise((done) => collector.listen(0, '127.0.0.1', done));
  atEnd(() => {
    collector.closeAllConnections();
    collector.close();
  });
  return `http://127.0.0.1:${collector.address().port}`;
}
