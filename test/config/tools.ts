/** Shared by the tests of the configuration. */
import { parseConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Environment } from '../../config/substitute.ts';

interface Given {
  readonly env?: Environment;
  /** Default: false. */
  readonly service?: boolean;
}

function parse(text: string, { env = {}, service = false }: Given) {
  return parseConfig(text, { path: 'c.yaml', env, cwd: '/home/me', needs: { service } });
}

/** The configuration of a text that must be right. */
export function configOf(text: string, given: Given = {}): Config {
  const result = parse(text, given);
  if ('faults' in result) throw new Error(result.faults.join('\n'));
  return result.config;
}

/** The faults of a text; none when it is right. */
export function faultsIn(text: string, given: Given = {}): readonly string[] {
  const result = parse(text, given);
  return 'faults' in result ? result.faults : [];
}

/** A file of one right pipeline `p`, with more lines in it. */
export function pipelineWith(lines: string): string {
  return `pipelines: { p: { dataset: dns, to: { clickhouse: { table: t } }, ${lines} } }`;
}
