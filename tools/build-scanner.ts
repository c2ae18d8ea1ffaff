/**
 * Builds the scanners' modules: `npm run build:scanner`. They are committed beside their destinations, so installing
 * domainsync needs no compiler. test/scan/build.test.ts finds a module that does not match its sources.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Each module and its entry. */
export const MODULES = {
  'connectors/clickhouse/format/native.wasm': 'connectors/clickhouse/format/assembly/index.ts',
  'connectors/kafka/format/json.wasm': 'connectors/kafka/format/assembly/index.ts',
} as const;

const OPTIONS = ['-O3', '--converge', '--noAssert', '--runtime', 'minimal', '--enable', 'simd'];

/**
 * The bytes of a module, the same for the same sources and compiler.
 * @throws Error with the compiler's words
 */
export async function compileModule(module: keyof typeof MODULES): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  const args = [MODULES[module], '--baseDir', ROOT, '--outFile', module, ...OPTIONS];
  const { error, stderr } = await asc.main(args, {
    writeFile: (_name: string, contents: string | Uint8Array) => {
      if (typeof contents !== 'string') bytes = contents;
    },
  });
  if (error !== null || bytes === undefined) throw new Error(`${module} does not compile: ${stderr.toString()}`);
  return bytes;
}

if (import.meta.main) {
  for (const module of Object.keys(MODULES) as (keyof typeof MODULES)[]) {
    const bytes = await compileModule(module);
    writeFileSync(new URL(`../${module}`, import.meta.url), bytes);
    process.stdout.write(`${module}: ${bytes.length} bytes\n`);
  }
}
