/** The two plots of a pipeline: rows of each file, and changes in each file. */
import UPlot from '/assets/uplot.js';
import { h } from './dom.js';
import { compact } from './format.js';

/** @typedef {import('../../types/index.ts').RecordedRun} RecordedRun */
/** @typedef {{ label: string, color: string, values: number[] }} Layer */

const HEIGHT = 132;

const probe = h('i', { hidden: true });
document.body.append(probe);

/**
 * A colour of the style sheet in the current colour scheme. A canvas cannot use CSS variables.
 * @param {string} name
 * @param {number} [percent] of its opacity
 */
function color(name, percent = 100) {
  probe.style.color = `color-mix(in srgb, var(--${name}) ${percent}%, transparent)`;
  return getComputedStyle(probe).color;
}

/** A plot with its title, redrawn when its data, its width or the colour scheme changes. */
export class Plot {
  /** @param {string} title @param {'line' | 'bars'} kind */
  constructor(title, kind) {
    this.kind = kind;
    this.drawing = h('div', { className: 'drawing', role: 'img' });
    this.element = h('figure', { className: 'plot' }, h('figcaption', {}, title), this.drawing);
    /** @type {UPlot | null} */
    this.plot = null;
    /** @type {{ dates: number[], layers: Layer[] }} */
    this.data = { dates: [], layers: [] };
    this.drawn = '';
    new ResizeObserver(() => this.draw()).observe(this.drawing);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** @param {number[]} dates seconds @param {Layer[]} layers @param {string} description for screen readers */
  show(dates, layers, description) {
    this.data = { dates, layers };
    this.drawing.setAttribute('aria-label', description);
    this.draw();
  }

  draw() {
    const { dates, layers } = this.data;
    const width = Math.floor(this.drawing.clientWidth);
    const wanted = JSON.stringify([width, dates, layers, color('text')]);
    if (width === 0 || wanted === this.drawn) return;
    this.drawn = wanted;
    this.plot?.destroy();
    const { series, values } = this.kind === 'bars' ? stacked(layers) : lines(layers);
    this.plot = new UPlot(
      { width, height: HEIGHT, series: [{ label: 'file of', value: '{YYYY}-{MM}-{DD}' }, ...series], ...frame(dates) },
      [dates, ...values],
      this.drawing,
    );
  }
}

/** Axes and scales. Days are those of file names, so the zone is UTC. @param {number[]} dates */
function frame(dates) {
  const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  const day = 86_400;
  const [first = 0, last = 0] = [dates[0], dates.at(-1)];
  return {
    tzDate: (/** @type {number} */ seconds) => UPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    hooks: { ready: [newest], setCursor: [newest] },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      // Leaves room for half a bar at both ends.
      x: { range: /** @type {[number, number]} */ ([first - day, last + day]) },
      y: { range: (/** @type {UPlot} */ _plot, /** @type {number} */ _low, /** @type {number} */ high) => upTo(high) },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 64,
        grid: { show: false },
        values: (/** @type {UPlot} */ _plot, /** @type {number[]} */ at) =>
          at.map((s) => (s % day === 0 ? new Date(s * 1000).toISOString().slice(5, 10) : '')),
      },
      {
        ...axis,
        size: 48,
        space: 32,
        values: (/** @type {UPlot} */ _plot, /** @type {number[]} */ at) => at.map(compact),
      },
    ],
  };
}

/** The legend shows the newest file unless the pointer selects another. @param {UPlot} plot */
function newest(plot) {
  if (plot.cursor.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

/** From 0, with a little headroom. @param {number} high @returns {[number, number]} */
function upTo(high) {
  return [0, high > 0 ? high * 1.08 : 1];
}

/** @param {Layer[]} layers */
function lines(layers) {
  return {
    values: layers.map((layer) => layer.values),
    series: layers.map((layer) => ({
      label: layer.label,
      stroke: color(layer.color),
      fill: color(layer.color, 12),
      width: 2,
      points: { show: layer.values.length < 2 },
    })),
  };
}

/** Stacked bars. Each layer is drawn from 0 up to its own top, the highest first. @param {Layer[]} layers */
function stacked(layers) {
  /** @type {number[]} */
  let below = [];
  const tops = layers.map((layer) => {
    below = layer.values.map((value, n) => value + (below[n] ?? 0));
    return below;
  });
  return {
    values: tops.toReversed(),
    series: layers.toReversed().map((layer) => ({
      label: layer.label,
      fill: color(layer.color),
      width: 0,
      ...(UPlot.paths.bars === undefined ? {} : { paths: UPlot.paths.bars({ size: [0.7, 18, 2] }) }),
      points: { show: false },
      value: (
        /** @type {UPlot} */ _plot,
        /** @type {number} */ _top,
        /** @type {number} */ _series,
        /** @type {number | null} */ at,
      ) => (at === null ? '' : compact(layer.values[at] ?? 0)),
    })),
  };
}
