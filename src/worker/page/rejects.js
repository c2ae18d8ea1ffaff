/** The dialog that lists rejected lines. */
import { byId, h } from './dom.js';
import { number } from './format.js';

/** @typedef {import('../../types/index.ts').RecordedReject} RecordedReject */

/** Fetches the newest rejected lines of a pipeline and shows them. @param {string} pipeline */
export async function showRejects(pipeline) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('rejects'));
  const body = h('div', { className: 'rejects' }, h('p', { className: 'muted' }, 'Loading …'));
  const close = h('button', { className: 'quiet', onclick: () => dialog.close() }, 'Close');
  dialog.replaceChildren(
    h(
      'header',
      { className: 'dialog-head' },
      h('h2', { id: 'rejects-title', className: 'dialog-title' }, `Rejected lines of ${pipeline}`),
      close,
    ),
    body,
  );
  dialog.showModal();
  try {
    const response = await fetch(`/api/pipelines/${encodeURIComponent(pipeline)}/rejects?limit=100`);
    const document = await response.json();
    if (!response.ok) throw new Error(document.error);
    body.replaceChildren(...listed(document.rejects));
  } catch (error) {
    body.replaceChildren(
      h('p', { className: 'error' }, `They cannot be shown: ${/** @type {Error} */ (error).message}`),
    );
  }
}

/** @param {RecordedReject[]} rejects */
function listed(rejects) {
  if (rejects.length === 0) return [h('p', { className: 'muted' }, 'No rejected lines are on record.')];
  return rejects.map(({ file, line, reason, detail, raw }) =>
    h(
      'article',
      {},
      h('h3', {}, reason, h('span', { className: 'muted' }, `${file}, line ${number(line)}`)),
      detail === '' ? null : h('p', {}, detail),
      h('pre', { tabIndex: 0 }, raw),
    ),
  );
}
