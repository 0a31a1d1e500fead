// HTTP/1.1 on a bare socket. node:http costs more processor time for a request than some of the servers that are measured here.
import { once } from 'node:events';
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const SMALLEST = 16_384;

/** The text of a request. What does not change from one to the next is written once. */
export function request(method, path, body) {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
  if (body === undefined) return `${head}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/**
 * A connection that is kept alive, and sends one request at a time. `send` answers with the text of the body. It throws
 * when the status is not 2xx.
 */
export async function openWire(url) {
  const socket = await dial(url);
  const reader = createReader();
  let waiting;
  const fail = (error) => {
    waiting?.reject(error);
    waiting = undefined;
  };
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the server closed the connection')));
  socket.on('data', (chunk) => {
    reader.push(chunk);
    const answer = reader.take();
    if (answer === undefined || waiting === undefined) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    if (answer.status < 300) resolve(answer.text);
    else reject(new Error(`${answer.status} ${answer.text.slice(0, 200)}`));
  });
  return {
    send(text) {
      return new Promise((resolve, reject) => {
        if (waiting !== undefined) throw new Error('the connection is in use');
        if (socket.destroyed) throw new Error('the connection is closed');
        waiting = { resolve, reject };
        socket.write(text);
      });
    },
    close: () => socket.destroy(),
  };
}

/** Sends a request whose answer does not end. Gives each of its lines that is not empty to `onLine`. */
export async function openStream(url, text, onLine) {
  const socket = await dial(url);
  const reader = createReader();
  let status;
  let rest = '';
  const decoder = new TextDecoder();
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    reader.push(chunk);
    if (status === undefined) {
      status = reader.head()?.status;
      if (status === undefined) return;
      if (status >= 300) throw new Error(`the stream: ${status}`);
    }
    for (let piece = reader.chunk(); piece !== undefined; piece = reader.chunk()) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) if (line !== '') onLine(line);
    }
  });
  socket.write(text);
  return { close: () => socket.destroy() };
}

async function dial(url) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Takes answers apart. Bytes that came are kept until what they belong to is complete. */
function createReader() {
  let store = Buffer.alloc(0);
  let [from, to] = [0, 0];
  let head;
  const held = () => store.subarray(from, to);

  /** Makes room behind the bytes that are kept, so that an answer in many pieces is copied a few times, not once a piece. */
  function push(chunk) {
    if (from === to) {
      store = chunk;
      [from, to] = [0, chunk.length];
      return;
    }
    if (to + chunk.length > store.length) {
      const larger = Buffer.allocUnsafe(Math.max(SMALLEST, 2 * (to - from + chunk.length)));
      store.copy(larger, 0, from, to);
      [store, from, to] = [larger, 0, to - from];
    }
    chunk.copy(store, to);
    to += chunk.length;
  }

  function readHead() {
    if (head !== undefined) return head;
    const end = held().indexOf(HEAD_END);
    if (end < 0) return undefined;
    const text = store.latin1Slice(from, from + end);
    from += end + HEAD_END.length;
    const status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    const isChunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(text);
    head = { status, isChunked, length: Number(length ?? 0), pieces: [] };
    return head;
  }

  /** The next chunk of a chunked body. Empty at its end, undefined when it is not complete. */
  function readChunk() {
    const bytes = held();
    const end = bytes.indexOf(LINE_END);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.latin1Slice(0, end), 16);
    const start = end + LINE_END.length;
    if (bytes.length < start + size + LINE_END.length) return undefined;
    from += start + size + LINE_END.length;
    return bytes.subarray(start, start + size);
  }

  function answer(text) {
    const { status } = head;
    head = undefined;
    return { status, text };
  }

  /** The next whole answer; undefined when it is not complete. */
  function take() {
    if (readHead() === undefined) return undefined;
    if (!head.isChunked) {
      if (to - from < head.length) return undefined;
      from += head.length;
      return answer(store.utf8Slice(from - head.length, from));
    }
    for (let piece = readChunk(); piece !== undefined; piece = readChunk()) {
      if (piece.length === 0) return answer(Buffer.concat(head.pieces).toString());
      // The place of the bytes is used again.
      head.pieces.push(Buffer.from(piece));
    }
    return undefined;
  }

  return { push, head: readHead, chunk: readChunk, take };
}

/** Connections that are lent one by one, for whoever sends next. */
export async function openPool(url, size) {
  const wires = await Promise.all(Array.from({ length: size }, () => openWire(url)));
  const free = [...wires];
  const waiting = [];
  return {
    async send(text) {
      const wire = free.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
      try {
        return await wire.send(text);
      } finally {
        const next = waiting.shift();
        if (next) next(wire);
        else free.push(wire);
      }
    },
    close() {
      for (const wire of wires) wire.close();
    },
  };
}
