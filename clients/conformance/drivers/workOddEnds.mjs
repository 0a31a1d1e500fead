import { spawn } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';

const die = (signal) => process.kill(process.pid, signal);

/** Odd ways for a command of `dibs work` to end. */
export const ODD_ENDS = {
  'is killed': () => die('SIGKILL'),
  'kills its group': () => process.kill(-process.pid, 'SIGKILL'),
  'has a fault of memory': () => die('SIGSEGV'),
  'ends with 255': () => process.exit(255),
  'says what is no text': () => {
    writeSync(2, Buffer.from([0, 0xff, 0xc3, 0x1b]));
    process.exit(1);
  },
  'closes its output': () => {
    closeSync(1);
    closeSync(2);
    process.exit(3);
  },
  'leaves a process behind that holds its output': () => {
    spawn('sleep', ['600'], { stdio: 'inherit' }).unref();
    process.exit(4);
  },
  'throws what has no text': () => {
    throw Object.create(null);
  },
};
