import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { filesOf, type PageFile, sectionOf } from './pageFiles.ts';
import { ROOT, textOf } from './sources.ts';

/** Something on a page that is run: a producer, and a worker. */
export interface Example {
  name: string;
  files: PageFile[];
  needs: string[];
  /** The commands, as the page has them. */
  produce: string;
  work: string;
  /** What comes before them. The page says it for a user, who is not in this folder. */
  setup?: string;
  /** Instead of the commands of the page, which compile each time. */
  compiled?: { produce: string; work: string };
}

const PAGE = 'docs/quickstarts.md';
const GSON = '/usr/share/java/gson.jar';
const GO_MODULE = 'dibs.example/dibs';

/** What is run is what the page says. */
function checkCommands(text: string, { produce, work }: { produce: string; work: string }): void {
  for (const command of [produce, work])
    if (!text.includes(command)) throw new Error(`The page does not say "${command}"`);
}

const quickStart = (heading: string, rest: Omit<Example, 'name' | 'files'>): Example => {
  const section = sectionOf(PAGE, heading);
  checkCommands(section, rest);
  return { name: heading, files: filesOf(section), ...rest };
};

const DIBS_WORK = 'dibs work mail --concurrency 4 --result --';
const bash = quickStart('bash', {
  needs: ['bash', 'curl', 'jq'],
  produce: 'bash producer.sh',
  work: `${DIBS_WORK} bash work.sh`,
});
const ruby = quickStart('Ruby', { needs: ['ruby'], produce: 'ruby producer.rb', work: 'ruby worker.rb' });

const curl = quickStart('bash with curl alone', { needs: bash.needs, produce: '', work: 'bash worker.sh' });

export const quick = [
  bash,
  { ...curl, produce: bash.produce, files: [...bash.files, ...curl.files] },
  quickStart('Python', { needs: ['python3'], produce: 'python3 producer.py', work: 'python3 worker.py' }),
  quickStart('TypeScript', {
    needs: [],
    setup: `${ROOT}node_modules/.bin/tsc -p .`,
    produce: 'node producer.ts',
    work: 'node worker.ts',
    compiled: { produce: 'node producer.js', work: 'node worker.js' },
  }),
  quickStart('PHP', { needs: ['php'], produce: 'php producer.php', work: 'php worker.php' }),
  ruby,
];

/** Their compilers take longer than all the others together. */
export const slow = [
  quickStart('Go', {
    needs: ['go'],
    setup: [
      'go mod init example',
      `go mod edit -require ${GO_MODULE}@v0.0.0 -replace ${GO_MODULE}=${ROOT}clients/go`,
      'go build -o bin/ ./producer ./worker',
    ].join(' && '),
    produce: 'go run ./producer',
    work: 'go run ./worker',
    compiled: { produce: 'bin/producer', work: 'bin/worker' },
  }),
  quickStart('Java', {
    needs: ['java', GSON],
    produce: 'java -cp gson.jar Producer.java',
    work: 'java -cp gson.jar Worker.java',
    compiled: { produce: `java -cp ${GSON} Producer.java`, work: `java -cp ${GSON} Worker.java` },
  }),
  quickStart('Rust', {
    needs: ['rustc'],
    setup: 'rustc producer.rs && rustc work.rs',
    produce: './producer',
    work: `${DIBS_WORK} ./work`,
  }),
];

const comingFrom = (
  tool: string,
  rest: Omit<Example, 'name' | 'files'> & { beside?: PageFile[] },
): Example => {
  const page = `docs/coming-from/${tool}.md`;
  checkCommands(textOf(page), rest);
  return { name: `coming from ${tool}`, files: [...filesOf(textOf(page)), ...(rest.beside ?? [])], ...rest };
};

export const moved = [
  comingFrom('sqs', { needs: ['python3'], produce: 'python3 shop.py', work: 'python3 worker.py' }),
  comingFrom('celery', { needs: ['python3'], produce: 'python3 shop.py', work: 'python3 worker.py' }),
  comingFrom('sidekiq', {
    needs: ['ruby'],
    beside: ruby.files.filter((file) => file.name === 'dibs.rb'),
    produce: 'ruby shop.rb',
    work: 'dibs work mail --concurrency 5 --result -- ruby welcome.rb',
  }),
  comingFrom('bullmq', { needs: [], produce: 'node shop.mjs', work: 'node worker.mjs' }),
  comingFrom('pg-boss', { needs: [], produce: 'node shop.mjs', work: 'node worker.mjs' }),
];

const has = (tool: string) =>
  tool.startsWith('/') ? existsSync(tool) : spawnSync('which', [tool], { stdio: 'ignore' }).status === 0;

/** Why this machine does not run it. What is not run is said. */
export function reasonToSkip({ name, needs }: Example): string | undefined {
  const missing = needs.filter((tool) => !has(tool));
  let reason = missing.length > 0 ? `this machine lacks ${missing.join(' and ')}` : undefined;
  if (slow.some((one) => one.name === name) && process.env.QUICKSTARTS !== 'all')
    reason = '`npm run test:quickstarts` runs it';
  if (reason) console.warn(`Skipping ${name}: ${reason}`);
  return reason;
}
