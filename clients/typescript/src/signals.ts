import { nodeProcess } from './node.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'];

interface Stoppable {
  run(): Promise<void>;
  stop(options?: { deadlineSeconds?: number }): Promise<void>;
}

/** Runs until SIGTERM or Ctrl-C. A second one makes the deadline now. */
export async function runUntilSignal(worker: Stoppable): Promise<void> {
  const process = nodeProcess();
  if (!process.on || !process.off)
    throw new TypeError('runUntilSignal needs the signals of a process: use run');
  let isAsked = false;
  const heard = () => {
    void worker.stop(isAsked ? { deadlineSeconds: 0 } : {});
    isAsked = true;
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  try {
    await worker.run();
  } finally {
    for (const signal of SIGNALS) process.off(signal, heard);
  }
}
