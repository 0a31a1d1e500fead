import type { Config } from '../src/config.ts';
import { worstOf } from '../src/doctor/examine.ts';
import { examineAll } from '../src/doctor/examineAll.ts';
import type { Finding } from '../src/doctor/finding.ts';
import type { Found } from '../src/doctor/several.ts';
import { argumentsIn, misused } from './arguments.ts';
import { withDatabaseUrl } from './database.ts';
import { jsonFor, safe } from './shown.ts';

const USAGE = `Usage: dibs doctor [--json] [--held-seconds N]

  Looks at the database of DATABASE_URL, or at the embedded one under DATA_DIR, as Dibs needs it, and says what to do.
  With several databases, it looks at each, and at all together.
  It changes nothing. Dibs may run or not.

  --json             print JSON
  --held-seconds N   a transaction may be open for this long (300)

  Exit status: 0 all is well, 1 the database cannot be reached, 2 a wrong command line, 3 warnings, 4 problems.
`;

const EXIT = { ok: 0, warning: 3, problem: 4 } as const;
const MARGIN = ' '.repeat(9);

/** Findings tell of names and texts that other people chose. */
const shown = ({ database, check, level, found, meaning, advice }: Found): string =>
  [
    `${level.padEnd(8)} ${database === undefined ? '' : `${database}: `}${check}: ${found}`,
    ...(meaning ? [`${MARGIN}${meaning}`] : []),
    ...(advice ? [`${MARGIN}To do: ${advice}`] : []),
  ]
    .map(safe)
    .join('\n');

function summary(findings: Finding[]): string {
  const of = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length;
  return `${of('ok')} ok, ${of('warning')} warnings, ${of('problem')} problems`;
}

/** `dibs doctor` */
export async function doctorCommand(args: string[], readConfig: () => Config): Promise<void> {
  const { values } = argumentsIn({
    args,
    options: { json: { type: 'boolean' }, 'held-seconds': { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stderr.write(USAGE);
    return;
  }
  const held = values['held-seconds'];
  if (held !== undefined && !/^\d{1,8}(\.\d+)?$/.test(held))
    throw misused(`--held-seconds must be a number of seconds, not "${held}".`);
  const heldSeconds = held === undefined ? undefined : Number(held);
  const config = readConfig();
  const { poolSize, listenUrl, databaseUrl } = config;
  const thresholds = heldSeconds === undefined ? {} : { heldSeconds };
  const of = (url: string) => ({ url, poolSize, isEmbedded: databaseUrl === undefined, thresholds });
  const others = config.otherDatabases.map((other) => ({ ...of(other.url), ...other }));
  const findings = await withDatabaseUrl(config, { mayCreate: false }, (url) =>
    examineAll({ ...of(url), listenUrl: databaseUrl === undefined ? undefined : listenUrl }, others),
  );
  process.stdout.write(
    values.json
      ? `${jsonFor(process.stdout, JSON.stringify({ worst: worstOf(findings), findings }))}\n`
      : `${findings.map(shown).join('\n')}\n\n${summary(findings)}\n`,
  );
  process.exitCode = EXIT[worstOf(findings)];
}
