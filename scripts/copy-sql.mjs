// Copies the statements to dist/sql, because the built code reads them from ../sql.
import { cpSync, rmSync } from 'node:fs';

rmSync('dist/sql', { recursive: true, force: true });
cpSync('sql', 'dist/sql', { recursive: true });
