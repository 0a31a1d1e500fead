// Runs a script on another Node.js: `node scripts/on-node.mjs 24 bench/cycle.mjs --short`.

import { spawnSync } from 'node:child_process';

const [major, ...script] = process.argv.slice(2);
if (!/^\d+$/.test(major ?? '') || script.length === 0) {
  process.stderr.write('Usage: node scripts/on-node.mjs <major version> <script> [arguments]\n');
  process.exit(2);
}
// The package "node" fetches one of these by a script at its installation, which .npmrc forbids. npx puts that Node first in
// the PATH, so everything that the script starts runs on it, too.
const name = `node-${process.platform}-${process.arch}@${major}`;
const { status } = spawnSync('npx', ['--yes', '--package', name, '--', 'node', ...script], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
