import { expect, test } from 'vitest';
import { historyLines, historyStatusText } from '../../src/cli/history-text.ts';
import { historyDocument } from '../../src/pipeline/history-document.ts';
import type { DomainHistory, HistoryStatus, RowVersion } from '../../src/types/index.ts';

const ROW = {
  domain: 'a.example',
  tld: 'example',
  http_status: 200,
  country: '',
  dns_checked_at: '2026-01-01 00:00:00.000',
  dns_records: { MX: ['10 a.example', '20 b.example'], TXT: [] },
  technologies: { PHP: '' },
  pr_value: null,
  registration_record: '',
  unparsed: {},
};

function told(versions: RowVersion[], rest: Partial<DomainHistory> = {}): string[] {
  const history = { domain: 'a.example', object: 'lab.dns_history', since: '2026-01-01', versions, ...rest };
  return historyLines(historyDocument('dns', history), (text) => text.replaceAll('s3cret', '***'));
}

function version(from: string, to: string | null, row: Record<string, unknown> = {}): RowVersion {
  return { from, to, row: { ...ROW, ...row } };
}

/** What a second version is told to have changed. */
function change(old: Record<string, unknown>, now: Record<string, unknown>): string[] {
  return told([version('2026-01-01', '2026-01-02', old), version('2026-01-02', null, now)]).slice(-1);
}

test('from the first version on: what it was, what changed, when it was gone and back', () => {
  const moved = { country: 'NL', dns_records: { ...ROW.dns_records, MX: ['10 c.example'] }, technologies: {} };
  const lines = told([
    version('2026-01-01', '2026-01-03'),
    version('2026-01-03', '2026-01-05', { ...moved, dns_checked_at: '2026-01-04 00:00:00.000' }),
    version('2026-01-07', '2026-01-08', { ...moved, http_status: 404 }),
    version('2026-01-09', '2026-01-10', { ...moved, http_status: 404 }),
  ]);
  expect(lines).toEqual([
    'a.example in lab.dns_history, known since 2026-01-01',
    'from 2026-01-01',
    '  tld: example',
    '  http_status: 200',
    '  dns_checked_at: 2026-01-01 00:00:00.000',
    '  dns_records.MX: 10 a.example, 20 b.example',
    '  dns_records.TXT: []',
    "  technologies.PHP: ''",
    'changed 2026-01-03',
    '  country: - -> NL',
    '  dns_records.MX: 10 a.example, 20 b.example -> 10 c.example',
    "  technologies.PHP: '' -> -",
    'gone from 2026-01-05',
    'back since 2026-01-07',
    '  http_status: 200 -> 404',
    'gone from 2026-01-08',
    'back since 2026-01-09, as before',
    'gone from 2026-01-10',
  ]);
});

test('a version that differs only in when something was checked is not told', () => {
  const checked = { dns_checked_at: '2026-01-02 00:00:00.000' };
  const lines = told([version('2026-01-01', '2026-01-02'), version('2026-01-02', null, checked)]);
  expect(lines.filter((line) => !line.startsWith(' '))).toEqual([expect.any(String), 'from 2026-01-01']);
});

test('nothing is known', () => {
  expect(told([])).toEqual([
    'a.example in lab.dns_history: no version is on record; what was there is known since 2026-01-01',
  ]);
  expect(told([], { since: null })).toEqual(['a.example in lab.dns_history: nothing was loaded yet']);
});

test('long texts are shortened to where they differ', () => {
  const record = (middle: string): string => `{"handle":"${'a'.repeat(300)}${middle}${'b'.repeat(300)}"}`;
  const from = `…${'a'.repeat(20)}`;
  expect(change({ registration_record: record('X') }, { registration_record: record('Y') })).toEqual([
    `  registration_record: ${from}X${'b'.repeat(99)}… -> ${from}Y${'b'.repeat(99)}…`,
  ]);
  expect(change({}, { registration_record: record('Y') })).toEqual([
    `  registration_record: - -> {"handle":"${'a'.repeat(109)}…`,
  ]);
  expect(change({ registration_record: 'x'.repeat(130) }, { registration_record: 'x'.repeat(125) })).toEqual([
    `  registration_record: …${'x'.repeat(25)} -> …${'x'.repeat(20)}`,
  ]);
});

test('a character is not parted', () => {
  const [line = ''] = change({}, { country: `a${'😀'.repeat(100)}` });
  expect(line).toBe(`  country: - -> a${'😀'.repeat(59)}…`);
});

test('text from rows cannot move the cursor or forge a line, and secrets are removed before texts are shortened', () => {
  expect(change({}, { country: 'a\n\u001b[31mb\u202e' })).toEqual([String.raw`  country: - -> a\n\x1b[31mb\u202e`]);
  expect(change({}, { unparsed: { 'x\ny': '1' } })).toEqual([String.raw`  unparsed.x\ny: - -> 1`]);
  const [line] = change({}, { country: `${'x'.repeat(117)}s3cret` });
  expect(line).toBe(`  country: - -> ${'x'.repeat(117)}***`);
  const escaped = told([], { domain: 'a\u001b[31m' });
  expect(escaped[0]).toContain(String.raw`a\x1b[31m in`);
});

test('a map with very many keys is shown in part', () => {
  const unparsed = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`k${n}`, '1']));
  const lines = told([version('2026-01-01', '2026-01-02'), version('2026-01-02', null, { unparsed })]);
  expect(lines.filter((line) => line.startsWith('  unparsed.'))).toHaveLength(200);
  expect(lines.at(-1)).toBe('  and 1,300 more: --json has them all');
});

const KEPT: HistoryStatus = {
  object: 'lab.dns_history',
  kept: true,
  since: '2026-01-01',
  until: '2026-01-31',
  rows: 1234,
};

test.each<[Partial<HistoryStatus>, string]>([
  [{}, 'history in lab.dns_history, kept since 2026-01-01, until 2026-01-31, 1,234 rows'],
  [{ since: null, until: null, rows: 0 }, 'history in lab.dns_history: nothing was loaded yet'],
  [{ kept: false }, 'history: switched off; lab.dns_history has versions until 2026-01-31'],
  [{ kept: false, since: null, until: null }, 'history: switched off; lab.dns_history has versions'],
])('status: %j', (status, text) => {
  expect(historyStatusText({ ...KEPT, ...status })).toBe(text);
});

test('the document for programs has each change against the version before', () => {
  const history = {
    domain: 'a.example',
    object: 'lab.dns_history',
    since: '2026-01-01',
    versions: [version('2026-01-01', '2026-01-02'), version('2026-01-04', null, { http_status: 404 })],
  };
  const [first, second] = history.versions;
  expect(historyDocument('dns', history)).toEqual({
    pipeline: 'dns',
    ...history,
    versions: [
      { ...first, changed: [] },
      { ...second, changed: [{ column: 'http_status', old: 200, new: 404 }] },
    ],
  });
});
