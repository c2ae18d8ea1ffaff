/** `domainsync rollback`: restores the state before the last file, if a destination keeps it (mode `replace`). */
import { DomainsyncError } from '../../common/errors.ts';
import { formatNumber } from '../../common/format.ts';
import { snapshotDocument } from '../../pipeline/snapshot-document.ts';
import type { Destination, RolledBack } from '../../types/index.ts';
import type { App } from '../app.ts';
import { printJson } from '../output.ts';
import { selectPipelines } from '../select-pipelines.ts';

/** @throws USAGE when there is nothing to restore, DESTINATION_* */
export async function rollbackCommand(app: App, name: string): Promise<number> {
  const [pipeline] = selectPipelines(app.pipelines, [name]);
  const destinations = (await pipeline?.destinations(app.signal)) ?? [];
  try {
    const destination = destinations.find(canRollBack);
    if (destination === undefined) {
      throw new DomainsyncError('USAGE', `pipeline ${name} has no table that can be rolled back`, {
        hint: 'Only a table of mode replace keeps the one before.',
      });
    }
    const { from, to } = await destination.rollback(app.signal);
    if (app.json) printJson({ pipeline: name, from: snapshotDocument(from), to: snapshotDocument(to) }, app.out);
    else {
      app.out.write(
        `${name}: rolled back from ${from.file} to ${to.file} (${formatNumber(to.rows)} rows); ${from.file} is not loaded again without --force\n`,
      );
    }
    return 0;
  } finally {
    for (const destination of destinations) await destination.close();
  }
}

function canRollBack(
  destination: Destination,
): destination is Destination & { rollback(signal: AbortSignal): Promise<RolledBack> } {
  return destination.rollback !== undefined;
}
