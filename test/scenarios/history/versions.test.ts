/** The oracle of histories: what it makes of files written by hand, and what the drawn files have. */
import { expect, test } from 'vitest';
import { type DrawnFile, drawFiles } from '../../support/history/files.ts';
import { historyOf, loadedFiles, rowsAsOf, versionsOf } from '../../support/history/versions.ts';

/** A file: domains, each with its registrar, and the day it was checked after a blank. */
function file(date: string, rows: Readonly<Record<string, string>>): { date: string; bytes: Buffer } {
  const lines = Object.entries(rows).map(([domain, text]) => {
    const [registrar, checked] = text.split(' ');
    return `${JSON.stringify({ Domain: domain, Registrar: registrar, 'DNS last data checked': checked ?? null })}\n`;
  });
  return { date, bytes: Buffer.from(lines.join('')) };
}

type Files = Parameters<typeof loadedFiles>[0];

/** `domain registrar from to`, with the day of checking where there is one. */
function versions(files: Files, deletes = true): string[] {
  return versionsOf(loadedFiles(files, deletes)).map(({ domain, from, to, row }) => {
    const checked = row['dns_checked_at'];
    const day = typeof checked === 'number' ? [new Date(checked).toISOString().slice(0, 10)] : [];
    return [domain, row['registrar'], ...day, from, to].join(' ');
  });
}

function history(files: Files): string[][] {
  return historyOf(loadedFiles(files)).map((entries) =>
    entries.map(({ domain, row }) => `${domain} ${row === null ? 'gone' : row['registrar']}`),
  );
}

test('a version stands up to the file that replaced or deleted it', () => {
  const files = [
    file('2026-01-01', { a: '1', b: '1', c: '1' }),
    file('2026-01-03', { a: '2', c: '1' }),
    file('2026-01-05', { a: '1', b: '1', c: '1' }),
  ];
  expect(versions(files)).toEqual([
    'a 1 2026-01-01 2026-01-03',
    'a 2 2026-01-03 2026-01-05',
    'a 1 2026-01-05 ',
    'b 1 2026-01-01 2026-01-03',
    'b 1 2026-01-05 ',
    'c 1 2026-01-01 ',
  ]);
  expect(history(files)).toEqual([
    ['a 1', 'b 1', 'c 1'],
    ['a 2', 'b gone'],
    ['a 1', 'b 1'],
  ]);
});

test('versions that differ only in when something was checked are one, with the latest time', () => {
  const files = [
    file('2026-01-01', { a: '1 2026-01-01', b: '1' }),
    file('2026-01-02', { a: '1 2026-01-02', b: '1 2026-01-02' }),
    file('2026-01-03', { a: '2 2026-01-02', b: '1 2026-01-02' }),
  ];
  expect(versions(files)).toEqual([
    'a 1 2026-01-02 2026-01-01 2026-01-03',
    'a 2 2026-01-02 2026-01-03 ',
    'b 1 2026-01-02 2026-01-01 ',
  ]);
  expect(history(files)).toEqual([['a 1', 'b 1'], ['a 1', 'b 1'], ['a 2']]);
});

test('a version that a revision of its date replaced is left out; what was taken back never was', () => {
  const files = [
    file('2026-01-01', { a: '1', b: '1', d: '1' }),
    file('2026-01-02', { a: '2', b: '2', c: '2' }),
    file('2026-01-02', { a: '1', b: '3', d: '1' }),
  ];
  expect(versions(files)).toEqual([
    'a 1 2026-01-01 ',
    'b 1 2026-01-01 2026-01-02',
    'b 3 2026-01-02 ',
    'd 1 2026-01-01 ',
  ]);
  expect(history(files)[2]).toEqual(['a 1', 'b 3', 'd 1', 'c gone']);
});

test('of the first date the last revision counts', () => {
  const files = [file('2026-01-01', { a: '1', b: '1' }), file('2026-01-01', { a: '2' })];
  expect(versions(files)).toEqual(['a 2 2026-01-01 ']);
});

test('deletes: false: nothing goes', () => {
  const files = [file('2026-01-01', { a: '1', b: '1' }), file('2026-01-02', { a: '2' })];
  expect(versions(files, false)).toEqual(['a 1 2026-01-01 2026-01-02', 'a 2 2026-01-02 ', 'b 1 2026-01-01 ']);
});

test('a date shows what its newest file, or that of the date before, left', () => {
  const loaded = loadedFiles([
    file('2026-01-02', { a: '1' }),
    file('2026-01-02', { b: '1' }),
    file('2026-01-04', { c: '1' }),
  ]);
  const at = (date: string) => [...(rowsAsOf(loaded, date)?.keys() ?? ['none'])].join();
  expect(['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-02-01'].map(at)).toEqual([
    'none',
    'b',
    'b',
    'c',
    'c',
  ]);
});

/** Whatever the drawn files are to have, over all of them. */
function contents(files: readonly DrawnFile[]): Record<string, number> {
  const found: Record<string, number> = {};
  const count = (what: string): void => {
    found[what] = (found[what] ?? 0) + 1;
  };
  const ever = new Set<string>();
  for (const [n, { kind, rows }] of files.entries()) {
    count(kind);
    const [last, before] = [files[n - 1], files.findLast(({ date }, at) => at < n && date < (files[n]?.date ?? ''))];
    for (const [domain, row] of rows) {
      const old = last?.rows.get(domain);
      if (n > 0 && old === undefined) count(ever.has(domain) ? 'back' : 'added');
      if (old !== undefined && old !== row) count(before?.rows.get(domain) === row ? 'update taken back' : 'changed');
      ever.add(domain);
    }
    for (const domain of last?.rows.keys() ?? []) {
      if (!rows.has(domain)) count(before?.rows.has(domain) === false ? 'addition taken back' : 'gone');
    }
  }
  return found;
}

test.each([7, 8, 9])('the files of seed %i have everything that a history can have', (seed) => {
  const files = drawFiles({ seed, files: 20, rows: 300 });
  expect(files).toHaveLength(20);
  const found = contents(files);
  for (const what of ['next', 'revision', 'taken-back', 'back', 'added', 'changed', 'gone'])
    expect(found[what], what).toBeGreaterThan(1);
  for (const what of ['update taken back', 'addition taken back']) expect(found[what], what).toBeGreaterThan(1);
  const versions = versionsOf(loadedFiles(files));
  expect(versions.filter(({ to }) => to !== null).length).toBeGreaterThan(100);
  expect(drawFiles({ seed, files: 20, rows: 300 })).toEqual(files);
});
