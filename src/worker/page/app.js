/** The status page. It listens to server-sent events, and polls where they do not come through. */
import { Card } from './card.js';
import { byId, h, setText } from './dom.js';

/** @typedef {import('../state/status.ts').StatusDocument & { signedIn: boolean }} StatusDocument */
/** @typedef {import('../redis/records.ts').LiveRun} LiveRun */

const ASK_EVERY_MS = 10_000;

/** @type {Map<string, Card>} */
const cards = new Map();
/** How far the worker's clock is ahead of this one, in milliseconds. */
let ahead = 0;
let heardAt = 0;

/** @param {StatusDocument} status */
function show(status) {
  heardAt = Date.now();
  ahead = Date.parse(status.now) - heardAt;
  const names = status.pipelines.map(({ name }) => name);
  for (const [name, card] of cards) {
    if (names.includes(name)) continue;
    card.element.remove();
    cards.delete(name);
  }
  const main = byId('pipelines');
  if (names.length === 0) main.replaceChildren(h('p', { className: 'muted' }, 'The configuration has no pipelines.'));
  else if (cards.size === 0) main.replaceChildren();
  for (const pipeline of status.pipelines) {
    const card = cards.get(pipeline.name) ?? new Card(pipeline.name);
    if (!cards.has(pipeline.name)) {
      cards.set(pipeline.name, card);
      main.append(card.element);
    }
    card.show(pipeline, Date.now() + ahead);
  }
  showTop(status);
}

/** @param {StatusDocument} status */
function showTop({ pipelines, redis, workers, version, worker, signedIn }) {
  const count = (/** @type {string[]} */ ...states) => pipelines.filter(({ state }) => states.includes(state)).length;
  const bad = count('failing', 'no-access', 'not-found');
  const parts = [`${pipelines.length} ${pipelines.length === 1 ? 'pipeline' : 'pipelines'}`];
  if (count('current') > 0) parts.push(`${count('current')} up to date`);
  if (count('running') > 0) parts.push(`${count('running')} loading`);
  if (bad > 0) parts.push(`${bad} in trouble`);
  setText(byId('summary'), parts.join(' · '));
  document.title = bad > 0 ? `(${bad}) domainsync` : 'domainsync';
  const there = `${workers.length} ${workers.length === 1 ? 'worker' : 'workers'}`;
  setText(byId('system'), redis.ready ? there : 'Redis does not answer');
  byId('system').classList.toggle('bad', !redis.ready);
  notice(
    redis.ready
      ? ''
      : `Redis does not answer (${redis.fault}). Nothing new starts until it does; then all goes on by itself.`,
  );
  byId('sign-out').hidden = !signedIn;
  setText(byId('footer'), `domainsync ${version} · answered by worker ${worker.slice(0, 8)} · times are UTC`);
}

/** @param {string} text */
function notice(text) {
  const element = byId('notice');
  element.hidden = text === '';
  setText(element, text);
}

async function ask() {
  const response = await fetch('/api/status').catch(() => null);
  if (response === null) {
    notice('The worker does not answer. What is shown is what it said last.');
  } else if (response.status === 401) {
    location.reload();
  } else if (response.ok) {
    show(await response.json());
  }
}

const events = new EventSource('/api/events');
events.addEventListener('status', (event) => show(JSON.parse(event.data)));
events.addEventListener('run', (event) => {
  /** @type {LiveRun} */
  const run = JSON.parse(event.data);
  cards.get(run.pipeline)?.showRun(run);
});
events.addEventListener('error', () => void ask());

setInterval(() => {
  for (const card of cards.values()) card.tick(Date.now() + ahead);
}, 1000);
setInterval(() => {
  // A proxy, or a computer that slept, may hold events back.
  if (Date.now() - heardAt > 2.5 * ASK_EVERY_MS) void ask();
}, ASK_EVERY_MS);
