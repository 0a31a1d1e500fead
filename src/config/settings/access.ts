import type { Settings } from './setting.ts';

export const ACCESS = {
  AUTH: {
    kind: 'choice',
    values: ['keys', 'off'],
    default: '',
    about:
      'Without it, requests need an access key as soon as there is one. `keys`: always. `off`: never, but [web pages of other sites](operating.md#browsers) are refused.',
  },
  ADMIN_KEY_FILE: {
    kind: 'text',
    is: 'path of a file',
    about:
      'A file with an access key with every scope, which is added to the database at the start. `dibs keys create --print-only` makes one.',
  },
  JWT_ISSUER: {
    kind: 'text',
    is: 'URL',
    about:
      'The issuer whose JSON Web Tokens are accepted, besides keys: [your own issuer](operating.md#your-own-issuer).',
  },
  JWT_AUDIENCE: {
    kind: 'text',
    is: 'name',
    about: 'The audience that a token must name: `dibs`. Required with `JWT_ISSUER`.',
  },
  JWT_JWKS: {
    kind: 'text',
    is: 'https URL, or path of a file',
    about: 'The public keys of the issuer. Required with `JWT_ISSUER`.',
  },
  JWT_GRANTS: {
    kind: 'text',
    is: 'path of a file',
    about: 'Says what tokens may do that do not say so themselves.',
  },
  JWT_CLOCK_SKEW_SECONDS: {
    kind: 'integer',
    unit: 'seconds',
    default: 60,
    least: 0,
    most: 600,
    about: 'By how much the clocks of the issuer and of this replica may differ.',
  },
} satisfies Settings;
