import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './postgres.ts';

/** Where a certificate and its key are, and what is in these files. */
export interface Pair {
  certPath: string;
  keyPath: string;
  cert: string;
  key: string;
}

interface Wanted {
  /** The subject, such as `/CN=mailer`. */
  subject: string;
  /** The hosts that it is for, such as `DNS:localhost` or `IP:127.0.0.1`. */
  names?: string[];
  /** It ended long ago. */
  expired?: boolean;
}

const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Makes certificates with the program `openssl`, in a folder of their own. */
export async function certificateMaker() {
  const directory = await temporaryDirectory();
  let made = 0;

  /** A key and a request for a certificate. */
  function ask(subject: string) {
    const base = join(directory.path, `${++made}`);
    openssl(
      ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-subj', subject, '-keyout', `${base}.key`, '-out', `${base}.csr`],
    );
    return base;
  }

  const pairAt = (base: string): Pair => ({
    certPath: `${base}.crt`,
    keyPath: `${base}.key`,
    cert: readFileSync(`${base}.crt`, 'utf8'),
    key: readFileSync(`${base}.key`, 'utf8'),
  });

  return {
    path: directory.path,
    remove: directory.remove,

    authority(name: string): Pair {
      const base = ask(`/CN=${name}`);
      writeFileSync(`${base}.ext`, 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n');
      openssl(
        ...['x509', '-req', '-in', `${base}.csr`, '-signkey', `${base}.key`, '-days', '2'],
        ...['-extfile', `${base}.ext`, '-out', `${base}.crt`],
      );
      return pairAt(base);
    },

    /** Signed by an authority. */
    signed(by: Pair, { subject, names = [], expired = false }: Wanted): Pair {
      const base = ask(subject);
      const alternatives = names.length > 0 ? `subjectAltName=${names.join()}\n` : '';
      writeFileSync(`${base}.ext`, `basicConstraints=CA:FALSE\n${alternatives}`);
      openssl(
        ...['x509', '-req', '-in', `${base}.csr`, '-CA', by.certPath, '-CAkey', by.keyPath],
        ...['-set_serial', `${made}`, '-days', expired ? '-1' : '2'],
        ...['-extfile', `${base}.ext`, '-out', `${base}.crt`],
      );
      return pairAt(base);
    },
  };
}
