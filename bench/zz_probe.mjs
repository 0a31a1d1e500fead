import { Session } from 'node:inspector';
import { writeFileSync } from 'node:fs';
const s = new Session(); s.connect();
s.post('Profiler.enable'); s.post('Profiler.setSamplingInterval', { interval: 200 });
let started = false;
process.on('SIGUSR2', () => { if (!started) { started = true; s.post('Profiler.start'); } else { s.post('Profiler.stop', (e, r) => writeFileSync(process.env.PROF_OUT, JSON.stringify(r.profile))); } });
