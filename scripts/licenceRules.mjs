/** Licences that ask for no more than to keep their texts. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
];
/** For tools, which we run and do not pass on. */
const FOR_TOOLS = [...PERMISSIVE, 'MPL-2.0', 'Python-2.0'];

/** Whether one of the choices in an SPDX expression is allowed. Such expressions have no more than OR and AND here. */
function isAllowed(expression, allowed) {
  const choices = expression.replaceAll(/^\(|\)$/g, '').split(' OR ');
  return choices.some((choice) => choice.split(' AND ').every((licence) => allowed.includes(licence)));
}

const nameOf = (path) => path.replace(/^.*node_modules\//, '');
const packagesOf = ({ packages }) => Object.entries(packages).filter(([path]) => path !== '');

/** A line for each package of a lock file whose licence is not allowed. */
export function problemsOf(lock, { areTools = false } = {}) {
  return packagesOf(lock)
    .filter(([, { license = '', dev }]) => !isAllowed(license, areTools || dev ? FOR_TOOLS : PERMISSIVE))
    .map(
      ([path, { license }]) =>
        `${path} is under ${license ?? 'no licence'}, which is not in scripts/licenceRules.mjs`,
    );
}

/** What an installation gets: name, versions, licence. Packages for one platform each are one. */
export function licencesOf(lock) {
  const found = new Map();
  for (const [path, { version, license, dev, os }] of packagesOf(lock)) {
    if (dev) continue;
    const name = os ? nameOf(path).replace(/[^/]+$/, '*') : nameOf(path);
    const entry = found.get(name) ?? { name, versions: new Set(), licences: new Set() };
    entry.versions.add(version);
    entry.licences.add(license);
    found.set(name, entry);
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const tableOf = (entries) =>
  [
    '| Package | Version | Licence |',
    '|---|---|---|',
    ...entries.map(
      ({ name, versions, licences }) =>
        `| \`${name}\` | ${[...versions].join(', ')} | ${[...licences].join(', ')} |`,
    ),
  ].join('\n');
