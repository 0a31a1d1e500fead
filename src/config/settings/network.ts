import type { Settings } from './setting.ts';

export const NETWORK = {
  HOST: {
    kind: 'text',
    is: 'address or host name',
    default: '127.0.0.1',
    about: 'Where to listen. Any address but loopback needs an access key, `JWT_ISSUER` or `AUTH=off`.',
  },
  PORT: {
    kind: 'integer',
    unit: '',
    default: 8080,
    least: 0,
    most: 65535,
    about: 'The port to listen on. 0 picks a free one, and the ready line in the log names it.',
  },
  ALLOWED_HOSTS: {
    kind: 'list',
    items: 'host names without ports',
    about:
      'Names that the `Host` header may have besides those of loopback, where nobody needs a key: `dibs.internal`.',
  },
  ALLOWED_ORIGINS: {
    kind: 'list',
    items: 'origins like http://localhost:3000, or * for all',
    about:
      'Origins whose web pages may send requests and read answers. `*`: all, [with keys](operating.md#browsers).',
  },
  TRUST_PROXY: {
    kind: 'list',
    items: 'addresses, CIDRs like 10.0.0.0/8, or loopback',
    about: 'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.',
  },
  TLS_CERT: {
    kind: 'text',
    is: 'path of a PEM file',
    about:
      'The certificate, followed by those of its issuers. With it Dibs [serves HTTPS](operating.md#tls), and reads the file again when it changes.',
  },
  TLS_KEY: {
    kind: 'text',
    is: 'path of a PEM file',
    about: 'The private key of `TLS_CERT`. Required with it.',
  },
  TLS_CLIENT_CA: {
    kind: 'text',
    is: 'path of a PEM file',
    about:
      'The authorities whose client certificates are accepted [in place of an access key](operating.md#client-certificates).',
  },
} satisfies Settings;
