import { expect, test } from 'vitest';
import { changedColumns } from '../../src/pipeline/row-changes.ts';

const ROW = { domain: 'a.example', country: 'DE', http_status: 200, dns_status: true, pr_value: null };

test.each([
  ['nothing', {}, {}, []],
  ['a text', { country: 'DE' }, { country: 'NL' }, [{ column: 'country', old: 'DE', new: 'NL' }]],
  ['a number that went', { pr_value: 0 }, { pr_value: null }, [{ column: 'pr_value', old: 0, new: null }]],
  ['zero and nothing', { pr_value: null }, { pr_value: 0 }, [{ column: 'pr_value', old: null, new: 0 }]],
  ['a boolean', { dns_status: true }, { dns_status: false }, [{ column: 'dns_status', old: true, new: false }]],
  ['when it was checked', { dns_checked_at: '2026-01-01 00:00:00.000' }, { dns_checked_at: null }, []],
  ['a column that came', {}, { added: 'x' }, [{ column: 'added', old: null, new: 'x' }]],
  ['a column that went', { added: 'x' }, {}, [{ column: 'added', old: 'x', new: null }]],
  ['a column that says nothing and came', {}, { added: null }, []],
])('%s', (_what, old, now, changes) => {
  expect(changedColumns({ ...ROW, ...old }, { ...ROW, ...now })).toEqual(changes);
});

test('of a map the keys that differ', () => {
  const before = {
    dns_records: { A: ['192.0.2.1'], MX: ['10 a.example'], TXT: ['x', 'y'] },
    technologies: { PHP: '' },
  };
  const after = { dns_records: { A: ['192.0.2.1'], MX: ['20 b.example'], TXT: ['y', 'x'] }, technologies: {} };
  expect(changedColumns(before, after)).toEqual([
    {
      column: 'dns_records',
      old: { MX: ['10 a.example'], TXT: ['x', 'y'] },
      new: { MX: ['20 b.example'], TXT: ['y', 'x'] },
    },
    { column: 'technologies', old: { PHP: '' }, new: {} },
  ]);
});

test('the order of keys is no change', () => {
  expect(changedColumns({ unparsed: { a: '1', b: '2' } }, { unparsed: { b: '2', a: '1' } })).toEqual([]);
  expect(changedColumns({ own: { a: { b: 1, c: 2 } } }, { own: { a: { c: 2, b: 1 } } })).toEqual([]);
});

test('keys that every object has, or that would change one, are keys like any other', () => {
  const map = (text: string) => ({ unparsed: JSON.parse(text) as Record<string, unknown> });
  const [change] = changedColumns(map('{"__proto__":"1","constructor":"2"}'), map('{"toString":"3"}'));
  expect(JSON.stringify(change)).toBe(
    '{"column":"unparsed","old":{"__proto__":"1","constructor":"2"},"new":{"toString":"3"}}',
  );
  expect(changedColumns(map('{"__proto__":"1"}'), map('{"__proto__":"1"}'))).toEqual([]);
});
