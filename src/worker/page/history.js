/** What is known of a domain: the search box of a pipeline that keeps versions of rows, and the dialog with what it finds. */
import { byId, h, setText } from './dom.js';
import { number } from './format.js';

/** @typedef {import('../../types/index.ts').HistoryStatus} HistoryStatus */
/** @typedef {import('../../pipeline/history-document.ts').HistoryEvent} HistoryEvent */
/** @typedef {import('../../pipeline/history-document.ts').HistoryDocument & { events: HistoryEvent[] }} HistoryAnswer */

/** @type {Record<HistoryEvent['kind'], string>} */
const HAPPENED = { first: 'From', changed: 'Changed', gone: 'Gone from', back: 'Back since' };

/** The search box. @param {string} pipeline @returns {HTMLFormElement} */
export function historySearch(pipeline) {
  const id = `history-${pipeline}`;
  const input = h('input', { id, type: 'search', required: true, autocomplete: 'off', spellcheck: false });
  input.setAttribute('autocapitalize', 'none');
  const onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    void showDomain(pipeline, input.value);
  };
  const label = h('label', { htmlFor: id, className: 'muted' }, 'History of a domain');
  const button = h(
    'button',
    { className: 'quiet', 'aria-label': `Show the history of a domain in ${pipeline}` },
    'Show',
  );
  return h(
    'form',
    { className: 'search', role: 'search', 'aria-label': `History of domains in ${pipeline}`, hidden: true, onsubmit },
    label,
    input,
    button,
  );
}

/**
 * Whether versions are kept, as a fact of the card: name, text, tooltip.
 * @param {HistoryStatus | undefined} history @param {string} of
 * @returns {[string, string, string][]}
 */
export function historyFacts(history, of) {
  if (history === undefined) return [];
  const { object, kept, since, until, rows } = history;
  const name = kept && since !== null ? 'History since' : 'History';
  const text = kept ? (since ?? 'nothing yet') : 'switched off';
  return [[`${name}${of}`, text, `${number(rows)} rows in ${object}${until === null ? '' : `, until ${until}`}`]];
}

/** Fetches what is known of a domain and shows it. @param {string} pipeline @param {string} domain */
async function showDomain(pipeline, domain) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('history'));
  const title = h('h2', { id: 'history-title', className: 'dialog-title' }, `History of ${domain.trim()}`);
  const close = h('button', { className: 'quiet', onclick: () => dialog.close() }, 'Close');
  // Announced when it changes: what is outside of an open dialog is not.
  const state = h('p', { className: 'muted', role: 'status' }, 'Loading …');
  const found = h('ol', { className: 'history' });
  dialog.replaceChildren(h('header', { className: 'dialog-head' }, title, close), state, found);
  dialog.showModal();
  try {
    const path = `/api/pipelines/${encodeURIComponent(pipeline)}/history?domain=${encodeURIComponent(domain)}`;
    const response = await fetch(path);
    const answer = await response.json();
    if (!response.ok) throw new Error([answer.error, answer.hint].filter(Boolean).join('. What to do: '));
    setText(title, `History of ${answer.domain}`);
    setText(state, summary(answer));
    found.replaceChildren(...answer.events.map(happened));
  } catch (error) {
    state.className = 'error';
    setText(state, `It cannot be shown: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {HistoryAnswer} answer */
function summary({ object, since, versions }) {
  if (since === null) return `${object}: nothing was loaded yet`;
  if (versions.length === 0) return `${object}: no version is on record; what was there is known since ${since}`;
  const count = `${number(versions.length)} ${versions.length === 1 ? 'version' : 'versions'}`;
  return `${object}: ${count}, known since ${since}`;
}

/** @param {HistoryEvent} event */
function happened({ date, kind, values, more }) {
  const asBefore = kind === 'back' && values.length === 0 ? ', as before' : '';
  const shown = values.map(({ name, old, new: now }) =>
    h(
      'div',
      {},
      h('dt', {}, name),
      h('dd', {}, ...(old === null ? [] : [h('span', { className: 'muted' }, old), ' → ']), h('span', {}, now)),
    ),
  );
  return h(
    'li',
    {},
    h('h3', {}, `${HAPPENED[kind]} `, h('time', { dateTime: date }, date), asBefore),
    shown.length === 0 ? null : h('dl', {}, ...shown),
    more === 0 ? null : h('p', { className: 'muted' }, `and ${number(more)} more`),
  );
}
