/**
 * Compiles the sources for publishing: `node tools/build.ts [folder]`, into `dist/` by default. Node does not run
 * TypeScript inside node_modules, so the package holds JavaScript.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const HALVES = ['src', 'connectors', 'config'];

/** A file named for `new URL(...)` or `import.meta.resolve(...)`, such as a worker thread's entry: tsc leaves these alone. */
const NAMED_FILE = /(\bnew URL\(\s*|\bimport\.meta\.resolve\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2/g;

/**
 * Removes `out` and fills it anew. The compiler's complaints go to stderr.
 * @throws Error when the sources do not compile, or name a file that is not there
 */
export function build(out: string): void {
  rmSync(out, { recursive: true, force: true });
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', out];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error('the sources do not compile');
  for (const path of filesUnder(out)) renameNamedFiles(path);
  for (const half of HALVES) copyOtherFiles(half, out);
  // Read relative to the sources for the version: `../package.json` is the same file's copy here.
  cpSync(join(ROOT, 'package.json'), join(out, 'package.json'));
}

function renameNamedFiles(path: string): void {
  const code = readFileSync(path, 'utf8');
  const renamed = code.replace(NAMED_FILE, (_all, call: string, quote: string, name: string) => {
    if (!existsSync(resolve(dirname(path), `${name}.js`)))
      throw new Error(`${path} names ${name}.ts, which is missing`);
    return `${call}${quote}${name}.js${quote}`;
  });
  if (renamed !== code) writeFileSync(path, renamed);
}

/** What the sources read beside themselves: a page, a query, the example configuration. */
function copyOtherFiles(half: string, out: string): void {
  for (const path of filesUnder(join(ROOT, half))) {
    if (path.endsWith('.ts') || path.includes('/assembly/') || path === join(ROOT, 'src/bin.js')) continue;
    cpSync(path, join(out, path.slice(ROOT.length + 1)));
  }
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

if (import.meta.main) build(resolve(ROOT, process.argv[2] ?? 'dist'));
