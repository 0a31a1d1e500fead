// The command of `dibs work` in the conformance suite: does what its payload says.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ODD_ENDS } from './workOddEnds.mjs';

const { DRIVER_PORT, DRIVER_AS: as, DIBS_JOB_ID: id } = process.env;
const socket = connect(Number(DRIVER_PORT), '127.0.0.1');
let onTerm = () => undefined;
process.on('SIGTERM', () => {
  socket.write(`${JSON.stringify({ event: 'signal', as, id })}\n`);
  onTerm();
});

/** Returns when the driver has it: it must be seen before what follows from it. */
async function say(event) {
  socket.write(`${JSON.stringify({ as, id, ...event })}\n`);
  await once(socket, 'data');
}

async function end(code) {
  await say({ event: 'finished' });
  process.exit(code);
}

const payload_text = await text(process.stdin);
const script = JSON.parse(payload_text) ?? {};
const headers = JSON.parse(process.env.DIBS_HEADERS);
await say({
  event: 'started',
  attempt: Number(process.env.DIBS_ATTEMPT),
  deliveries: Number(process.env.DIBS_DELIVERIES),
  headers,
  payload_text,
});
await new Promise((resolve) => {
  const timer = setTimeout(resolve, script.ms ?? 0);
  onTerm = () => {
    if (script.ignore_signal) return;
    clearTimeout(timer);
    void end(1);
  };
});
if (script.odd !== undefined) {
  await say({ event: 'finished' });
  ODD_ENDS[script.odd]();
} else if (script.fail !== undefined) {
  writeFileSync(2, script.fail);
  await end(script.dead ? 100 : 1);
} else if (script.release) await end(75);
else {
  const result = script.large_result ? 'x'.repeat(script.large_result) : script.result;
  if (result !== undefined) writeFileSync(1, JSON.stringify(result));
  await end(0);
}
