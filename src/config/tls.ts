import type { Variables } from './variables.ts';

/** Where the PEM files are with which Dibs serves HTTPS. */
export interface TlsPaths {
  cert: string;
  key: string;
  /** The authorities whose client certificates count. */
  clientCa: string | undefined;
}

export function readTls({ text, problems }: Variables): TlsPaths | undefined {
  const [cert, key, clientCa] = [text('TLS_CERT'), text('TLS_KEY'), text('TLS_CLIENT_CA')];
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert !== undefined) problems.push('TLS_KEY is missing: TLS_CERT needs its key');
  else if (key !== undefined) problems.push('TLS_CERT is missing: TLS_KEY needs its certificate');
  else if (clientCa !== undefined)
    problems.push('TLS_CLIENT_CA works with TLS only: set TLS_CERT and TLS_KEY, too');
  return undefined;
}
