/** What names a document, a heading or a file leads somewhere: links, paths in documents, citations and files in comments. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, posix, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const CODE_FOLDERS = ['src', 'connectors', 'config', 'test', 'tools'];
const CODE = new Set(['.ts', '.js', '.py', '.yml', '.yaml', '.xml', '.html', '.css']);
const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];

/** A document and headings in it: docs/contract.md, "Rows" and "Lines". */
const CITATION = /\b((?:docs\/[\w/-]+|README|CONTRIBUTING|CHANGELOG|SECURITY)\.md)((?:(?:,| and| to) "[^"]+")*)/g;
/** Citations of specifications by number, which nobody can look up here. */
const BY_NUMBER = /\b(?:contract|architecture)(?:\.md)?,? (?:section )?\d|\b(?:service-spec|field-notes)\b/gi;
const SOURCE_NAME = /(?<![\w/.*-])(?:\.{1,2}\/)*((?:[\w-]+\/)*[\w-]+(?:\.[\w-]+)*\.ts)\b/g;
const LINK = /\]\(([^)\s]+)\)/g;
const PATH = /`((?:src|connectors|config|test|tools|docs|\.ci|\.github)\/[^`\s]*)`/g;

function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'));
}

const codeFiles = [...CODE_FOLDERS.flatMap(filesUnder), 'vitest.config.ts', 'docker-compose.yml']
  .filter((path) => CODE.has(extname(path)))
  // Here stand examples of what leads nowhere.
  .filter((path) => basename(path) !== 'citations.test.ts');
const documents = [...PAGES, ...filesUnder('docs').filter((path) => path.endsWith('.md'))];
const everyFile = [...CODE_FOLDERS.flatMap(filesUnder), 'vitest.config.ts'];

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Without the parts that are shown as they are. */
function prose(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '');
}

/** The headings of a document, without markup. */
function headingsOf(markdown: string): string[] {
  return [...prose(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    (heading ?? '').replace(/[`*]/g, '').trim(),
  );
}

/** A heading's anchor, as forges make it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The comments of a source, each on one line. */
function commentsOf(source: string): string {
  const comments = source.match(/\/\*[\s\S]*?\*\/|(?:^|(?<=\s))\/\/.*(?:\n\s*\/\/.*)*/gm) ?? [];
  return comments.map((comment) => comment.replace(/\n\s*(?:\*(?!\/)|\/\/)?\s*/g, ' ')).join('\n');
}

/** Lines that were broken, in comments of any kind, put together. */
function unbroken(source: string): string {
  return source.replace(/\n\s*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' ');
}

function documentText(path: string): string | null {
  return existsSync(join(ROOT, path)) ? read(path) : null;
}

/** Citations that lead nowhere. */
function citationFaults(source: string, textOf = documentText): string[] {
  return [...unbroken(source).matchAll(CITATION)].flatMap(([, document = '', quoted = '']) => {
    const markdown = textOf(document);
    if (markdown === null) return [`there is no ${document}`];
    const headings = headingsOf(markdown);
    return [...quoted.matchAll(/"([^"]+)"/g)].flatMap(([, heading = '']) =>
      headings.includes(heading) ? [] : [`${document} has no heading "${heading}"`],
    );
  });
}

/** Why a link of a document leads nowhere; null: it does not, or it leads out of the repository. */
function linkFault(from: string, target: string): string | null {
  if (/^[a-z]+:/i.test(target)) return null;
  const [path = '', anchor] = target.split('#');
  const to = path === '' ? from : posix.normalize(posix.join(posix.dirname(from), path));
  if (!existsSync(join(ROOT, to))) return `${from}: there is no ${target}`;
  if (anchor === undefined) return null;
  const anchors = headingsOf(read(to)).map(anchorOf);
  return anchors.includes(anchor) ? null : `${from}: no heading leads to ${target}`;
}

/** Whether a path exists; `*` stands for any one name. */
function isThere(path: string): boolean {
  const names = path.replace(/\/$/, '').split('/');
  let folders = [ROOT];
  for (const name of names) {
    folders = folders.flatMap((folder) => {
      if (name !== '*') return existsSync(join(folder, name)) ? [join(folder, name)] : [];
      return statSync(folder).isDirectory() ? readdirSync(folder).map((one) => join(folder, one)) : [];
    });
  }
  return folders.length > 0;
}

test('links between the documents lead somewhere', () => {
  const faults = documents.flatMap((from) =>
    [...prose(read(from)).matchAll(LINK)].flatMap(([, target = '']) => linkFault(from, target) ?? []),
  );
  expect(faults).toEqual([]);
});

test('paths that the documents name are there', () => {
  const faults = documents.flatMap((from) =>
    [...prose(read(from)).matchAll(PATH)].flatMap(([, path = '']) => (isThere(path) ? [] : [`${from}: ${path}`])),
  );
  expect(faults).toEqual([]);
});

test('citations in the code lead to a document and a heading in it', () => {
  expect(codeFiles.flatMap((path) => citationFaults(read(path)).map((fault) => `${path}: ${fault}`))).toEqual([]);
});

test('nothing is cited by the number of a section', () => {
  const paths = [...codeFiles, ...documents];
  const found = paths.flatMap((path) => [...unbroken(read(path)).matchAll(BY_NUMBER)].map(([it]) => `${path}: ${it}`));
  expect(found).toEqual([]);
});

test('sources that comments name are there', () => {
  const ends = new Set(everyFile.flatMap((path) => path.split('/').map((_, n, names) => names.slice(n).join('/'))));
  const faults = codeFiles
    .filter((path) => path.endsWith('.ts') || path.endsWith('.js'))
    .flatMap((path) =>
      [...commentsOf(read(path)).matchAll(SOURCE_NAME)].flatMap(([, name = '']) =>
        ends.has(name) ? [] : [`${path}: ${name}`],
      ),
    );
  expect(faults).toEqual([]);
});

test('a citation that leads nowhere is found, also in a broken line', () => {
  const text = (path: string): string | null => (path === 'docs/a.md' ? '# A\n\n## `b` and c\n' : null);
  expect(citationFaults('// see docs/a.md, "b and c"; docs/a.md', text)).toEqual([]);
  expect(citationFaults('/**\n * As docs/a.md,\n * "A" says.\n */', text)).toEqual([]);
  expect(citationFaults('/** docs/a.md, "A" and\n * "B" */', text)).toEqual(['docs/a.md has no heading "B"']);
  expect(citationFaults('// docs/b.md', text)).toEqual(['there is no docs/b.md']);
});

test.each(['contract 3', 'architecture section 2', 'Contract section 4', 'service-spec 2.2', 'service-spec.md'])(
  'it is found that a source cites %s',
  (citation) => expect([...citation.matchAll(BY_NUMBER)]).toHaveLength(1),
);
