import { withLength } from './sockets.mjs';

/** Whole requests, as bytes on the wire. */
export const get = (path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
export const post = (path, body, more) => withLength('POST', path, Buffer.byteLength(body), more) + body;
