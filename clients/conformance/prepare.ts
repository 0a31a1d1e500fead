import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Says what is missing, and fails: no library is left out silently. Builds the driver in Go. */
export default function prepare(): void {
  const tools = { python3: ['--version'], go: ['version'] };
  const missing = Object.entries(tools).filter(([tool, args]) => spawnSync(tool, args).status !== 0);
  if (missing.length > 0)
    throw new Error(
      `This machine lacks ${missing.map(([tool]) => tool).join(' and ')}, which the clients need.`,
    );
  mkdirSync(folder('.work'), { recursive: true });
  rmSync(folder('.work/results.jsonl'), { force: true });
  execFileSync('go', ['vet', './...'], { cwd: folder('../go'), stdio: 'inherit' });
  execFileSync('go', ['test', './...'], { cwd: folder('../go'), stdio: 'inherit' });
  execFileSync('go', ['build', '-o', '../conformance/.work/go-driver', './conformance'], {
    cwd: folder('../go'),
    stdio: 'inherit',
  });
}
