/** Asks a pipeline for what is known of a domain. */
import { DomainsyncError } from '../common/errors.ts';
import type { Pipeline } from './context.ts';
import { type HistoryDocument, historyDocument } from './history-document.ts';

const HINT = 'Set to.clickhouse.history: true for the pipeline (mode sync): versions are kept from the next load on.';

/** @throws USAGE where none of its destinations keeps versions, or no domain is named; DESTINATION_* */
export async function readHistory(
  pipeline: Pick<Pipeline, 'name' | 'destinations'>,
  domain: string,
  signal: AbortSignal,
): Promise<HistoryDocument> {
  if (domain.trim() === '') {
    throw new DomainsyncError('USAGE', 'no domain is named', { hint: 'Name one, such as example.com.' });
  }
  const destinations = await pipeline.destinations(signal);
  try {
    for (const destination of destinations) {
      const history = await destination.history?.(domain, signal);
      if (history !== undefined) return historyDocument(pipeline.name, history);
    }
    throw new DomainsyncError('USAGE', `pipeline ${pipeline.name} keeps no versions of rows`, { hint: HINT });
  } finally {
    for (const destination of destinations) await destination.close();
  }
}
