/** The import graph, used by the architecture rules and the selection of tests. Pure, except for reading files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url));

const IMPORTS = [
  // import and export ... from, also of types and over several lines
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  // dynamic imports, and imports in types
  /\bimport\s*\(\s*['"`]([^'"`]+)['"`]/g,
];
/** Files that are named for a thread or a process. */
const NAMED = [
  /\b(?:require|import\.meta\.resolve)\s*\(\s*['"`]([^'"`]+)['"`]/g,
  /\bnew\s+URL\s*\(\s*['"`](\.{0,2}[^'"`]+)['"`]\s*,\s*import\.meta\.url/g,
];
const TYPES_ALONE = /^\s*(?:import|export)\s+type\b[^'"`;]*?\bfrom\s*['"][^'"]+['"];?/gm;

/** Code without lines that are comments as a whole, and without comments after code; `//` inside of a URL stays. */
export function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Which arrows count, beside imports of values. */
export interface Arrows {
  /** Imports of types alone. */
  readonly types: boolean;
  /** Files that are named for a thread or a process. */
  readonly named: boolean;
}

/** What code imports, as it is written there. */
export function importsOf(code: string, { types, named }: Arrows = { types: true, named: true }): string[] {
  const counted = types ? code : code.replace(TYPES_ALONE, '');
  const patterns = named ? [...IMPORTS, ...NAMED] : IMPORTS;
  return patterns.flatMap((pattern) => [...counted.matchAll(pattern)].map((match) => match[1] ?? ''));
}

/** The code files of folders, from the root, with slashes. */
export function codeFiles(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name))
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort(),
  );
}

/** Arrows from file to file, paths from the root: every import that leads to a file of the repository. */
export class ImportGraph {
  readonly #targets = new Map<string, readonly string[]>();
  readonly #arrows: Arrows;

  constructor(arrows: Arrows) {
    this.#arrows = arrows;
  }

  /** The files that one imports. */
  targets(path: string): readonly string[] {
    const known = this.#targets.get(path);
    if (known !== undefined) return known;
    const code = withoutComments(readFileSync(join(ROOT, path), 'utf8'));
    const found = importsOf(code, this.#arrows).flatMap((specifier) => targetOf(path, specifier));
    const targets = [...new Set(found)];
    this.#targets.set(path, targets);
    return targets;
  }

  /** A file and all that it leads to. */
  closure(path: string): Set<string> {
    const reached = new Set([path]);
    for (const one of reached) for (const target of this.targets(one)) reached.add(target);
    return reached;
  }

  /** Files that lead to themselves, with the others of each such circle. */
  circles(paths: readonly string[]): string[][] {
    const closures = new Map(paths.map((path) => [path, this.closure(path)]));
    const among = (a: string, b: string): boolean => a !== b && (closures.get(a)?.has(b) ?? false);
    const circles = paths.map((path) => paths.filter((other) => among(path, other) && among(other, path)));
    return paths.flatMap((path, n) => {
      const others = circles[n] ?? [];
      // Each circle once, by the first of its files.
      return others.length > 0 && others.every((other) => path < other) ? [[path, ...others]] : [];
    });
  }
}

/** Code files alone: data that is named beside them, such as a page, leads nowhere. */
function targetOf(from: string, specifier: string): string[] {
  const path = posix.join(posix.dirname(from), specifier);
  // AssemblyScript leaves the ending out.
  const file = [path, `${path}.ts`].find((name) => /\.[cm]?[jt]s$/.test(name) && existsSync(join(ROOT, name)));
  return file === undefined || file.startsWith('..') ? [] : [file];
}
