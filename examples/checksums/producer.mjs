// Walks a folder and enqueues one job per file, in batches: node producer.mjs [folder] [queue]
import { opendir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { call } from '../support/service.mjs';

const BATCH = 1000;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A file name as text; undefined when its bytes are not UTF-8, because JSON cannot carry them. */
function nameOf(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * The regular files below a folder, like `find folder -type f`. It does not follow symbolic links: a file is
 * counted at its own place, or it is outside the folder. `skip` gets the kind of each entry that is left out.
 */
export async function* filesIn(folder, skip) {
  for await (const entry of await opendir(folder, { encoding: 'buffer' })) {
    const name = nameOf(entry.name);
    if (name === undefined) skip('whose name is not UTF-8');
    else if (entry.isDirectory()) yield* filesIn(join(folder, name), skip);
    else if (entry.isFile()) yield join(folder, name);
    else skip(entry.isSymbolicLink() ? 'symbolic links' : 'neither files nor folders');
  }
}

/**
 * Enqueues one job per file. Returns the paths, and the number of skipped entries of each kind. It ends when
 * a batch fails. If only the answer was lost, a second attempt would enqueue the batch twice.
 */
export async function produce(url, queue, folder) {
  const paths = [];
  const skipped = {};
  let batch = [];
  const send = async () => {
    if (batch.length > 0)
      await call(url, 'POST', '/jobs/batch', { jobs: batch.map((path) => ({ queue, payload: { path } })) });
    batch = [];
  };
  const skip = (what) => {
    skipped[what] = (skipped[what] ?? 0) + 1;
  };
  for await (const path of filesIn(resolve(folder), skip)) {
    paths.push(path);
    if (batch.push(path) === BATCH) await send();
  }
  await send();
  return { paths, skipped };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = 'node_modules', queue = 'checksums'] = process.argv.slice(2);
  const { paths, skipped } = await produce(process.env.DIBS_URL ?? 'http://127.0.0.1:8080', queue, folder);
  console.log(`${paths.length} jobs enqueued`, skipped);
}
