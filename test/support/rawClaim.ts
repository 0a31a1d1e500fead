import { connect } from 'node:net';
import type { Claimed } from './client.ts';

/** A claim as it is sent. */
export function claimText(hostname: string, body: object): string {
  const text = JSON.stringify(body);
  return (
    `POST /jobs/claim HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

/**
 * A claim by a consumer that hangs up after a while. It still reads what the service wrote before it saw the hang-up, so
 * that it returns exactly the jobs that were answered.
 */
export async function claimAndHangUp(url: string, body: object, afterMs: number): Promise<Claimed[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(claimText(hostname, body));
  const timer = setTimeout(() => socket.end(), afterMs);
  await new Promise((resolve) => socket.once('close', resolve));
  clearTimeout(timer);
  const [head = '', answer = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const isWhole = Number(/content-length: (\d+)/i.exec(head)?.[1]) === Buffer.byteLength(answer);
  return isWhole && head.startsWith('HTTP/1.1 200') ? JSON.parse(answer).jobs : [];
}
