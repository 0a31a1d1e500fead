// A Dibs with nothing but its embedded PostgreSQL, for the tests that kill one. It prints `ready <url>` or `refused <why>`.
// At SIGINT it reads from the database once more, and then stops it.
import pg from 'pg';
import { startEmbedded } from '../../dist/src/embedded/index.js';

try {
  const embedded = await startEmbedded({ dataDir: process.argv[2], log: (line) => console.error(line) });
  process.once('SIGINT', async () => {
    const client = new pg.Client(embedded.url);
    await client.connect();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { rows } = await client.query("SELECT 'still here' AS answer");
    await client.end();
    await embedded.stop();
    console.log(`stopped ${rows[0].answer}`);
  });
  console.log(`ready ${embedded.url}`);
} catch (error) {
  console.log(`refused ${error.message}`);
  process.exitCode = 3;
}
