import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { cliAt } from './cli.ts';

/** Commands before a server that answers 200 with these texts, the last one for all that follow. */
export async function answered(...texts: string[]) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      bodies.push(body);
      response.end(texts.length > 1 ? texts.shift() : texts[0]);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { bodies, dibs: cliAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) };
}
