/** One pipeline on the page. Its elements are created once and updated in place, so focus and selection survive. */
import { announce, h, setText } from './dom.js';
import { bytes, duration, moment, number, relative } from './format.js';
import { historyFacts, historySearch } from './history.js';
import { Plot } from './plots.js';
import { showRejects } from './rejects.js';
import { runsTable } from './runs.js';

/** @typedef {import('../state/status.ts').PipelineStatus} PipelineStatus */
/** @typedef {import('../redis/records.ts').LiveRun} LiveRun */

/** @type {Record<PipelineStatus['state'], string>} */
export const STATES = {
  'no-access': 'No access',
  'not-found': 'Not found',
  failing: 'Failing',
  running: 'Loading',
  queued: 'Waiting to load',
  empty: 'Nothing loaded yet',
  current: 'Up to date',
  unknown: 'Not known',
};

export class Card {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    /** @type {PipelineStatus | null} */
    this.status = null;
    /** Quarters of the progress already announced. */
    this.announced = 0;
    this.badge = h('span', { className: 'badge' });
    this.source = h('span', { className: 'muted source' });
    this.button = h('button', { onclick: () => this.sync() }, 'Sync now');
    this.button.setAttribute('aria-label', `Sync ${name} now`);
    this.rejects = h('button', { className: 'quiet', hidden: true, onclick: () => showRejects(name) });
    this.facts = h('dl', { className: 'facts' });
    this.trouble = h('div', { className: 'trouble', hidden: true });
    this.bar = h('div', { className: 'bar', role: 'progressbar', 'aria-label': `Progress of ${name}` }, h('span', {}));
    this.progress = h('div', { className: 'progress', hidden: true }, this.bar, h('p', {}));
    this.rows = new Plot('Rows per file', 'line');
    this.changes = new Plot('Changes per file', 'bars');
    this.plots = h('div', { className: 'plots', hidden: true }, this.rows.element, this.changes.element);
    this.runs = h(
      'details',
      { className: 'runs', hidden: true },
      h('summary', {}, 'Runs'),
      h('div', { className: 'scroll' }),
    );
    this.search = historySearch(name);
    const title = h('h2', { id: `pipeline-${name}` }, name);
    this.element = h(
      'section',
      { className: 'card', 'aria-labelledby': `pipeline-${name}` },
      h('header', {}, title, this.source, this.badge, h('div', { className: 'actions' }, this.rejects, this.button)),
      this.progress,
      this.trouble,
      this.facts,
      this.search,
      this.plots,
      this.runs,
    );
  }

  /** @param {PipelineStatus} status @param {number} now milliseconds, by the worker's clock */
  show(status, now) {
    const before = this.status;
    this.status = status;
    if (before !== null && before.state !== status.state) announce(`${this.name}: ${STATES[status.state]}`);
    this.element.dataset['state'] = status.state;
    setText(this.badge, STATES[status.state]);
    setText(this.source, status.source === this.name ? '' : status.source);
    this.button.disabled = status.state === 'running';
    const rejected = Math.max(0, ...status.destinations.map((one) => one.rejected));
    this.rejects.hidden = rejected === 0;
    setText(this.rejects, `${number(rejected)} rejected ${rejected === 1 ? 'line' : 'lines'}`);
    const keeps = status.destinations.some((one) => one.history?.kept);
    // A destination that does not answer for a moment must not take the box from under what somebody types.
    if (keeps || status.destinationError === null) this.search.hidden = !keeps;
    this.showTrouble(now);
    this.showRun(status.run);
    this.showHistory(status);
    this.tick(now);
  }

  /** Updates what changes with time alone. @param {number} now */
  tick(now) {
    const { status } = this;
    if (status === null) return;
    /** @type {[string, string, string][]} name, text, and tooltip */
    const facts = status.destinations.flatMap((one) => {
      const { destination, object, held, ageSeconds, history } = one;
      // Destinations that do not answer are missing from the list.
      const several = status.destinations.length > 1 || status.destinationError !== null;
      const of = several ? ` (${destination})` : '';
      const replicas = replicaFacts(one, of, status.lagging?.[destination] ?? []);
      if (held === null) return [[`Holds${of}`, 'nothing yet', object], ...historyFacts(history, of), ...replicas];
      const age = ageSeconds === null ? 'not known' : duration(ageSeconds);
      const part =
        held.partial === undefined ? '' : `, ${number(held.partial.sent)} of ${number(held.partial.of)} messages`;
      return /** @type {[string, string, string][]} */ ([
        [`Holds${of}`, `${held.date}${part}`, `${held.file} in ${object}`],
        [`Age${of}`, age, 'since the day of the file began'],
        [`Rows${of}`, number(held.rows), ''],
        [`Loaded${of}`, relative(held.loadedAt, now), moment(held.loadedAt)],
        ...historyFacts(history, of),
        ...replicas,
      ]);
    });
    facts.push(['Access', accessText(status), status.access.code ?? '']);
    if (status.check !== null) facts.push(['Checked', relative(status.check.at, now), `newest: ${status.check.file}`]);
    const next = status.nextCheckAt;
    const schedule = status.schedule === null ? 'only when asked' : next === null ? 'not known' : relative(next, now);
    facts.push(['Next check', schedule, status.schedule ?? '']);
    this.showFacts(facts);
  }

  /** @param {[string, string, string][]} facts */
  showFacts(facts) {
    while (this.facts.children.length > facts.length) this.facts.lastElementChild?.remove();
    for (const [n, [name, text, title]] of facts.entries()) {
      const made = this.facts.children[n] ?? h('div', {}, h('dt'), h('dd'));
      if (made.parentElement === null) this.facts.append(made);
      const [term, value] = /** @type {[HTMLElement, HTMLElement]} */ ([...made.children]);
      setText(term, name);
      setText(value, text);
      if (value.title !== title) value.title = title;
    }
  }

  /** @param {number} now */
  showTrouble(now) {
    const { trouble = null, destinationError = null } = this.status ?? {};
    const told = trouble ?? destinationError;
    this.trouble.hidden = told === null;
    if (told === null) return;
    const { code, message, hint } = told;
    const lines = [h('strong', {}, code), h('p', {}, message), h('p', { className: 'hint' }, `What to do: ${hint}`)];
    if (trouble !== null)
      lines.push(h('p', { className: 'muted' }, afterwards(trouble, this.status?.schedule ?? null, now)));
    const text = lines.map((line) => line.textContent).join('\n');
    if (this.trouble.textContent !== lines.map((line) => line.textContent).join(''))
      this.trouble.replaceChildren(...lines);
    this.trouble.title = text.split('\n')[0] ?? '';
  }

  /** @param {LiveRun | null} run */
  showRun(run) {
    const [fill] = /** @type {HTMLElement[]} */ ([...this.bar.children]);
    const text = /** @type {HTMLElement} */ (this.progress.lastElementChild);
    this.progress.hidden = run === null;
    if (run === null) {
      this.announced = 0;
      return;
    }
    const share = run.totalBytes === null ? null : run.totalBytes === 0 ? 1 : Math.min(1, run.read / run.totalBytes);
    const percent = share === null ? null : Math.floor(share * 100);
    if (percent === null) this.bar.removeAttribute('aria-valuenow');
    else this.bar.setAttribute('aria-valuenow', String(percent));
    this.bar.classList.toggle('unknown', percent === null);
    if (fill !== undefined) fill.style.width = `${percent ?? 100}%`;
    setText(text, runText(run, percent));
    const quarter = Math.floor((percent ?? 0) / 25);
    if (quarter > this.announced) announce(`${this.name}: ${quarter * 25} %`);
    this.announced = Math.max(this.announced, quarter);
  }

  /** @param {PipelineStatus} status */
  showHistory({ history }) {
    const loaded = history.filter((run) => run.outcome === 'loaded');
    this.runs.hidden = history.length === 0;
    const [, table] = this.runs.children;
    table?.replaceChildren(runsTable(history));
    // The last load of each file counts; with several destinations, the first one.
    const byDate = new Map(
      loaded.filter((run) => run.destination === loaded[0]?.destination).map((run) => [run.fileDate, run]),
    );
    const runs = [...byDate.values()].sort((a, b) => a.fileDate.localeCompare(b.fileDate));
    this.plots.hidden = runs.length === 0;
    const dates = runs.map((run) => Date.parse(`${run.fileDate}T00:00:00Z`) / 1000);
    const rows = runs.map((run) => run.inserted + run.updated + run.unchanged);
    this.rows.show(
      dates,
      [{ label: 'rows', color: 'accent', values: rows }],
      `Rows of ${runs.length} files; the newest has ${number(rows.at(-1) ?? 0)}`,
    );
    const layers = /** @type {const} */ ([
      ['inserted', 'good'],
      ['updated', 'busy'],
      ['deleted', 'bad'],
    ]).map(([label, color]) => ({
      label,
      color,
      // The first load of a table is not a change.
      values: runs.map((run) => (run.unchanged + run.updated + run.deleted === 0 ? 0 : run[label])),
    }));
    const last = layers.map(({ label, values }) => `${number(values.at(-1) ?? 0)} ${label}`).join(', ');
    this.changes.show(dates, layers, `Changes of ${runs.length} files; with the newest ${last}`);
  }

  /** Requests a load. */
  async sync() {
    this.button.disabled = true;
    try {
      const response = await fetch(`/api/pipelines/${encodeURIComponent(this.name)}/sync`, { method: 'POST' });
      const document = await response.json();
      if (!response.ok) throw new Error(document.error);
      announce(`${this.name}: a load was asked for`);
    } catch (error) {
      announce(`${this.name}: it could not be asked for: ${/** @type {Error} */ (error).message}`);
      this.trouble.hidden = false;
      this.trouble.replaceChildren(h('p', {}, `Sync now did not work: ${/** @type {Error} */ (error).message}`));
    } finally {
      this.button.disabled = false;
    }
  }
}

/**
 * Of a cluster: which replicas do not answer or are behind.
 * @param {PipelineStatus['destinations'][number]} status
 * @param {string} of
 * @param {readonly string[]} lagging replicas that did not show the last file when it was recorded
 * @returns {[string, string, string][]}
 */
function replicaFacts({ cluster }, of, lagging) {
  if (cluster === undefined) return [];
  const { name, replicas } = cluster;
  const late = replicas.flatMap((replica) => {
    const text = latenessOf(replica, replicas);
    return text === null ? [] : [`${replica.name} ${text}`];
  });
  const all = `${number(replicas.length)} up to date`;
  const title = `cluster ${name}: ${replicas.map((replica) => replica.name).join(', ')}`;
  const missed = lagging.length === 0 ? '' : `; the last file was recorded before it showed on ${lagging.join(', ')}`;
  return [[`Replicas${of}`, late.length === 0 ? all : late.join(', '), `${title}${missed}`]];
}

/**
 * @typedef {NonNullable<PipelineStatus['destinations'][number]['cluster']>['replicas'][number]} Replica
 * @param {Replica} replica
 * @param {readonly Replica[]} others
 */
function latenessOf({ answers, behindSeconds }, others) {
  if (!answers) return 'does not answer';
  // A replica that has not heard of the others since it started counts from 1970.
  if (behindSeconds !== null && behindSeconds > 1e9) return 'is behind';
  if (behindSeconds !== null) return behindSeconds > 0 ? `is ${duration(behindSeconds)} behind` : null;
  // Before the first load none has it.
  return others.some((other) => other.behindSeconds !== null) ? 'has no such table' : null;
}

/** @param {PipelineStatus} status */
function accessText({ access }) {
  return { granted: 'granted', refused: 'refused', 'not-found': 'not found', unknown: 'not known yet' }[access.state];
}

/**
 * What happens next. @param {NonNullable<PipelineStatus['trouble']>} trouble @param {string | null} schedule @param {number} now
 */
function afterwards({ at, times, until, retryAt }, schedule, now) {
  const since = `${moment(at)}${times > 1 ? `, ${times} times in a row` : ''}`;
  if (retryAt !== null && retryAt > now) return `${since}; tried again ${relative(retryAt, now)}`;
  if (until === null) return `${since}; not tried again until the file or the configuration changes, or you sync now`;
  if (until > now)
    return `${since}; asked less often while it lasts: again ${relative(until, now)}, or when you sync now`;
  return `${since}; tried again ${schedule === null ? 'when you sync now' : 'with the next check'}`;
}

/** @param {LiveRun} run @param {number | null} percent */
function runText({ file, totalBytes, downloaded, rows, rejected, bytesPerSecond, secondsLeft }, percent) {
  const parts = [
    `${bytes(downloaded)}${totalBytes === null ? '' : ` of ${bytes(totalBytes)}`} downloaded`,
    `${number(rows)} rows`,
  ];
  if (rejected > 0) parts.push(`${number(rejected)} rejected`);
  if (percent === 100) parts.push('making it visible');
  else parts.push(`${bytes(bytesPerSecond)}/s`);
  if (percent !== 100 && secondsLeft !== null) parts.push(`${duration(secondsLeft)} left`);
  return `${file}: ${percent === null ? '' : `${percent} %, `}${parts.join(', ')}`;
}
