/** The pipelines that a command line names. */
import { DomainsyncError } from '../common/errors.ts';
import type { PipelineHandle } from './app.ts';

/**
 * All pipelines in the configuration's order if none is named; otherwise the named ones in the order given, each once. @throws
 * USAGE
 */
export function selectPipelines(all: readonly PipelineHandle[], names: readonly string[]): readonly PipelineHandle[] {
  const known = all.map((pipeline) => pipeline.name).join(', ') || 'none';
  if (names.length === 0 && all.length === 0) {
    throw new DomainsyncError('USAGE', 'the configuration has no pipelines', { hint: 'Add one under pipelines.' });
  }
  if (names.length === 0) return all;
  return [...new Set(names)].map((name) => {
    const found = all.find((pipeline) => pipeline.name === name);
    if (found === undefined) {
      throw new DomainsyncError('USAGE', `there is no pipeline '${name}' in the configuration`, {
        hint: `The configuration has: ${known}.`,
      });
    }
    return found;
  });
}
