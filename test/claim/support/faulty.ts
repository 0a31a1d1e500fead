import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Core } from './world.ts';

const SOURCE = join(import.meta.dirname, '../../../src/claim');
/** The files that decide. A copy of them imports all others from where they are. */
const FILES = ['claim.ts', 'waitLine.ts', 'moves.ts', 'step.ts'];

/** A fault: this text of a file becomes another. */
export interface Fault {
  what: string;
  file: string;
  from: string;
  to: string;
}

/** Runs `use` with a copy of the core that has a fault. */
export async function withFault({ what, file, from, to }: Fault, use: (core: Core) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dibs-fault-'));
  try {
    for (const name of FILES) {
      let text = await readFile(join(SOURCE, name), 'utf8');
      if (name === file) {
        if (text.split(from).length !== 2) throw new Error(`"${what}" fits ${name} no more: ${from}`);
        text = text.replace(from, () => to);
      }
      const elsewhere = (path: string) => (FILES.includes(path.slice(2)) ? path : join(SOURCE, path));
      text = text.replace(/ from '(\.[^']*)'/g, (_, path) => ` from '${elsewhere(path)}'`);
      await writeFile(join(folder, name), text);
    }
    const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href);
    const [{ newState }, { step }] = await Promise.all([load('moves.ts'), load('step.ts')]);
    use({ newState, step });
  } finally {
    await rm(folder, { recursive: true });
  }
}
