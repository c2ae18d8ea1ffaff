/** The runs of a pipeline as a table, newest first. */
import { h } from './dom.js';
import { bytes, duration, moment, number } from './format.js';

/** @typedef {import('../../types/index.ts').RecordedRun} RecordedRun */

const HEADS = ['Finished', 'File', 'Outcome', 'Took', 'Rows', 'Inserted', 'Updated', 'Deleted', 'Rejected', 'Size'];
/** Index of the first number column. Number columns are right-aligned. */
const FIRST_NUMBER = 3;

/** @param {readonly RecordedRun[]} runs oldest first */
export function runsTable(runs) {
  const rows = runs.toReversed().map((run) => {
    const seconds = (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000;
    const outcome = run.errorCode === '' ? run.outcome : `${run.outcome}: ${run.errorCode}`;
    const counts = [run.rowsRead, run.inserted, run.updated, run.deleted, run.rejected].map(number);
    const cells = [moment(run.finishedAt), run.file, outcome, duration(seconds), ...counts, bytes(run.bytes)];
    return h(
      'tr',
      { className: run.outcome === 'failed' ? 'failed' : '', title: run.error },
      ...cells.map((text, n) => h('td', { className: n < FIRST_NUMBER ? '' : 'number' }, text)),
    );
  });
  const heads = HEADS.map((head, n) => h('th', { scope: 'col', className: n < FIRST_NUMBER ? '' : 'number' }, head));
  return h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...rows));
}
