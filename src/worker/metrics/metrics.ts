/** The registry behind /metrics. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { StatusDocument } from '../state/status.ts';
import { createGauges } from './pipeline-metrics.ts';
import { createMeters, type Meters } from './worker-metrics.ts';

/** prom-client's own metrics whose names promtool rejects, or that say nothing useful here. */
const LEFT_OUT = /_total$|^nodejs_(?:active|version|heap_space)|^process_(?:open|max)_fds$/;
const KEPT = new Set([
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
]);

export interface Metrics {
  readonly meters: Meters;
  /** Every served metric, in the order it is served. */
  readonly definitions: readonly MetricDefinition[];
  /** @param status read just now */
  expose(status: StatusDocument): Promise<{ readonly type: string; readonly text: string }>;
}

/** A metric as the documentation lists it. */
interface MetricDefinition {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (LEFT_OUT.test(name) && !KEPT.has(name)) registry.removeSingleMetric(name);
  }
  const meters = createMeters(registry);
  const gauges = createGauges(registry);
  return {
    meters,
    definitions: registry.getMetricsAsArray().map(definitionOf),
    async expose(status) {
      gauges.show(status);
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** prom-client keeps a metric's labels, but its types omit them. */
function definitionOf(metric: ReturnType<Registry['getMetricsAsArray']>[number]): MetricDefinition {
  const { labelNames: labels } = metric as typeof metric & { readonly labelNames: readonly string[] };
  return { name: metric.name, type: String(metric.type), help: metric.help, labels };
}
