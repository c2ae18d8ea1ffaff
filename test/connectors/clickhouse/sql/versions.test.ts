/** The statements of a table of versions, as text. What they do is in test/scenarios/history. */
import { expect, test } from 'vitest';
import { broughtBy } from '../../../../connectors/clickhouse/sql/row-version.ts';
import {
  createVersionsView,
  deleteDoomed,
  historyDefinition,
  insertDoomed,
  isVersionsView,
  selectAppendAsof,
  selectAsof,
  selectChangesValues,
  selectVersions,
  versionsViewComment,
} from '../../../../connectors/clickhouse/sql/versions.ts';
import { selectColumns } from '../../../../src/rows/columns.ts';

const COLUMNS = selectColumns(['registrar', 'http_status', 'dns_records']);
const [HISTORY, CHANGES] = ['`db`.`dns_history`', '`db`.`dns_changes`'];

test('the statements of a history', async () => {
  const comment = versionsViewComment('0123456789abcdef');
  expect(isVersionsView(comment)).toBe(true);
  const placing = { onCluster: ' ON CLUSTER `c`', replicated: true, namesUuid: false };
  const statements = {
    'history-definition': historyDefinition('`db`.`dns`'),
    'history-definition-replicated': historyDefinition('`db`.`dns`', placing),
    'select-asof': selectAsof(HISTORY, COLUMNS, '2026-01-15'),
    'select-append-asof': selectAppendAsof('`db`.`dns`', COLUMNS),
    'select-versions': selectVersions(HISTORY, COLUMNS),
    'select-changes-values': selectChangesValues(HISTORY, CHANGES, COLUMNS),
    'create-view': createVersionsView('`db`.`dns_asof`', 'SELECT 1', comment, placing),
    'insert-doomed': insertDoomed('doomed', HISTORY, null),
    'insert-doomed-by': insertDoomed('doomed', HISTORY, '2026-01-15'),
    'delete-doomed': deleteDoomed('history', 'doomed', "domain >= 'a'", '_deleted = 0'),
    'brought-by': broughtBy({ file: { date: '2026-01-15' }, revision: 1, source: "d'ns" }),
  };
  for (const [name, sql] of Object.entries(statements))
    await expect(sql).toMatchFileSnapshot(`../../../golden/clickhouse/versions/${name}.sql`);
});
