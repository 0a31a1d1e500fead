import { constants } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createSecureContext, type SecureContextOptions, type TlsOptions } from 'node:tls';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { certificatesIn } from '../../../src/config/pem.ts';
import type { TlsPaths } from '../../../src/config/tls.ts';
import { ConfigError } from '../../../src/config.ts';

const LOOK_MS = 5000;

interface Contents {
  cert: string;
  key: string;
  ca: string | undefined;
}

async function readPem(name: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`${name}=${path} cannot be read: ${error.message}`);
  });
}

/** @throws Error for a file that cannot be read */
const read = async ({ cert, key, clientCa }: TlsPaths): Promise<Contents> => ({
  cert: await readPem('TLS_CERT', cert),
  key: await readPem('TLS_KEY', key),
  ca: clientCa === undefined ? undefined : await readPem('TLS_CLIENT_CA', clientCa),
});

/** @throws Error for files that do not work together */
function contextOf(contents: Contents, paths: TlsPaths): { context: SecureContextOptions; validTo: Date } {
  const [own] = certificatesIn(contents.cert, `TLS_CERT=${paths.cert}`);
  if (contents.ca !== undefined) certificatesIn(contents.ca, `TLS_CLIENT_CA=${paths.clientCa}`);
  const context: SecureContextOptions = {
    ...contents,
    minVersion: 'TLSv1.2',
    // In TLS 1.2, a client could change its certificate in the middle of a connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  try {
    createSecureContext(context);
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`TLS_CERT=${paths.cert} and TLS_KEY=${paths.key} do not work together: ${why}`);
  }
  return { context, validTo: new Date(own.validTo) };
}

function sayUntil(validTo: Date, logger: FastifyBaseLogger): void {
  const until = validTo.toISOString();
  if (validTo.getTime() < Date.now()) logger.error(`the certificate in TLS_CERT ended at ${until}`);
  else logger.info(`the certificate in TLS_CERT is valid until ${until}`);
}

/**
 * Looks at the files again and again, and gives new connections what is new. It compares contents: a Kubernetes secret
 * changes by a symlink, a copy may keep the time of its file, and not all file systems tell of changes.
 */
function keepFresh(
  server: Server,
  {
    paths,
    first,
    lookMs,
    logger,
  }: { paths: TlsPaths; first: Contents; lookMs: number; logger: FastifyBaseLogger },
): () => void {
  let used = first;
  let wrong = { message: '', looks: 0 };

  async function look(): Promise<void> {
    try {
      const found = await read(paths);
      if (JSON.stringify(found) !== JSON.stringify(used)) {
        const { context, validTo } = contextOf(found, paths);
        server.setSecureContext(context);
        used = found;
        sayUntil(validTo, logger);
      }
      wrong = { message: '', looks: 0 };
    } catch (error) {
      const { message } = error as Error;
      wrong = { message, looks: wrong.message === message ? wrong.looks + 1 : 1 };
      // At the first look, a writer may be between two files.
      if (wrong.looks === 2) logger.warn(`${message}. Dibs goes on with the files of before.`);
    }
  }
  // The next look begins after this one: a file system may be slow.
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  function lookLater(): void {
    if (!isOver) timer = setTimeout(() => void look().then(lookLater), lookMs).unref();
  }
  lookLater();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** @throws ConfigError for files with which Dibs cannot serve HTTPS */
export async function openCertificates(paths: TlsPaths, lookMs = LOOK_MS) {
  try {
    const first = await read(paths);
    const { context, validTo } = contextOf(first, paths);
    const options: TlsOptions = {
      ...context,
      requestCert: paths.clientCa !== undefined,
      // A client without a certificate may have a key in a header.
      rejectUnauthorized: false,
    };
    return {
      options,
      /** Reads the files again when they change. Returns what ends that. */
      keepFresh(server: Server, logger: FastifyBaseLogger): () => void {
        sayUntil(validTo, logger);
        return keepFresh(server, { paths, first, lookMs, logger });
      },
    };
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

export type Certificates = Awaited<ReturnType<typeof openCertificates>>;

/** Keeps the certificates of an app fresh, until it is closed. */
export function keepCertificates(app: FastifyInstance, certificates: Certificates): void {
  const end = certificates.keepFresh(app.server as unknown as Server, app.log);
  app.addHook('onClose', async () => end());
}
