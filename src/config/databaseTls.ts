import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { certificatesIn } from './pem.ts';

/** The parameters of a database URL that are about TLS. Those that it leaves out may be in the environment, as PGSSLMODE and so on. */
export const TLS_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'] as const;

/** Options of the driver. */
export interface DatabaseTls {
  ssl: ConnectionOptions | false;
  sslnegotiation: 'postgres' | 'direct';
}

const MODES = ['disable', 'require', 'verify-ca', 'verify-full'];
/** The public authorities that Node brings along. */
const SYSTEM = 'system';
const PLAIN: DatabaseTls = { ssl: false, sslnegotiation: 'postgres' };

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${name}=${path} cannot be read: ${(error as Error).message}`);
  }
}

/** The mode, as libpq understands it (PostgreSQL manual, "SSL Mode Descriptions"). */
function modeOf(given: (name: string) => string | undefined): string {
  const mode = given('sslmode');
  const rootCert = given('sslrootcert');
  if (mode === undefined) {
    if (rootCert === SYSTEM) return 'verify-full';
    const other = TLS_PARAMETERS.find((name) => given(name) !== undefined);
    if (other) throw new Error(`${other} needs an sslmode, such as sslmode=verify-full`);
    return 'disable';
  }
  if (mode === 'allow' || mode === 'prefer')
    throw new Error(
      `sslmode=${mode} goes on without TLS if anybody in between says so; use require or verify-full`,
    );
  if (!MODES.includes(mode)) throw new Error(`sslmode must be one of ${MODES.join(', ')}`);
  if (rootCert === SYSTEM && mode !== 'verify-full' && mode !== 'disable')
    throw new Error(
      `sslrootcert=${SYSTEM} needs sslmode=verify-full: anybody can get a certificate for some name`,
    );
  // So it is in libpq, for the sake of old programs.
  return mode === 'require' && rootCert !== undefined ? 'verify-ca' : mode;
}

function clientPair(certPath: string | undefined, keyPath: string | undefined): ConnectionOptions {
  if (certPath === undefined && keyPath === undefined) return {};
  if (certPath === undefined || keyPath === undefined) throw new Error('sslcert and sslkey need each other');
  const pair = { cert: read('sslcert', certPath), key: read('sslkey', keyPath) };
  certificatesIn(pair.cert, `sslcert=${certPath}`);
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new Error(
      `sslcert=${certPath} and sslkey=${keyPath} do not work together: ${(error as Error).message}`,
    );
  }
  return pair;
}

/**
 * Reads what the URL of a database says about TLS, and the files that it names.
 * @throws Error that says what is wrong
 */
export function databaseTls(url: URL): DatabaseTls {
  const given = (name: string) => url.searchParams.getAll(name).at(-1) || undefined;
  const unknown = [...url.searchParams.keys()].find(
    (name) => /^ssl/.test(name) && !TLS_PARAMETERS.some((known) => known === name),
  );
  if (unknown) throw new Error(`${unknown} is not known; sslmode, sslrootcert, sslcert and sslkey are`);
  const mode = modeOf(given);
  const host = given('host') ?? decodeURIComponent(url.hostname);
  if (mode === 'disable' || host.startsWith('/')) return PLAIN;

  const sslnegotiation = given('sslnegotiation') ?? 'postgres';
  if (sslnegotiation !== 'postgres' && sslnegotiation !== 'direct')
    throw new Error('sslnegotiation must be one of postgres, direct');
  const pair = clientPair(given('sslcert'), given('sslkey'));
  if (mode === 'require') return { ssl: { ...pair, rejectUnauthorized: false }, sslnegotiation };

  const rootCert = given('sslrootcert') ?? SYSTEM;
  const ssl: ConnectionOptions = { ...pair, rejectUnauthorized: true };
  if (rootCert !== SYSTEM) {
    ssl.ca = read('sslrootcert', rootCert);
    certificatesIn(ssl.ca, `sslrootcert=${rootCert}`);
  }
  if (mode === 'verify-ca') {
    if (ssl.ca === undefined) throw new Error('sslmode=verify-ca needs an sslrootcert');
    ssl.checkServerIdentity = () => undefined;
  }
  return { ssl, sslnegotiation };
}
