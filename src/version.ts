import { readFileSync } from 'node:fs';

const packageFile = import.meta.url.includes('/dist/') ? '../../package.json' : '../package.json';

/** The version of this package. */
export const { version } = JSON.parse(readFileSync(new URL(packageFile, import.meta.url), 'utf8')) as {
  version: string;
};
