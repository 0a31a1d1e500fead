// The statements go beside the code that tsc builds, which reads them from ../sql.
import { cpSync, rmSync } from 'node:fs';

rmSync('dist/sql', { recursive: true, force: true });
cpSync('sql', 'dist/sql', { recursive: true });
