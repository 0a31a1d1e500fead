// `node --import` it: at each SIGUSR2, five minutes pass at once on the clock by which a replica rests.
const now = performance.now.bind(performance);
let passedMs = 0;
performance.now = () => now() + passedMs;
process.on('SIGUSR2', () => {
  passedMs += 300_000;
});
