/** `domainsync status` and `domainsync rejects`: what the destinations hold, and what was rejected. */

import { formatDuration, formatNumber } from '../../common/format.ts';
import { printable } from '../../common/printable.ts';
import { snapshotDocument } from '../../pipeline/snapshot-document.ts';
import type { DestinationStatus, LoadedSnapshot, RecordedReject } from '../../types/index.ts';
import type { App } from '../app.ts';
import { historyStatusText } from '../history-text.ts';
import { printJson, printTable } from '../output.ts';
import { replicaText } from '../replicas.ts';
import { selectPipelines } from '../select-pipelines.ts';

/** @throws DESTINATION_* */
export async function statusCommand(app: App, names: readonly string[]): Promise<number> {
  const statuses: (DestinationStatus & { readonly pipeline: string })[] = [];
  for (const pipeline of selectPipelines(app.pipelines, names)) {
    for (const destination of await pipeline.destinations(app.signal)) {
      statuses.push({ pipeline: pipeline.name, ...(await destination.status(app.signal)) });
      await destination.close();
    }
  }
  // Orphans do not matter to a status of named pipelines.
  const left = names.length === 0 && statuses.length > 0 ? await app.orphans() : [];
  if (app.json) {
    const leftBehind = left.map(({ held, ...rest }) => ({
      ...rest,
      held: held === null ? null : snapshotDocument(held),
    }));
    const pipelines = statuses.map(({ held, ...rest }) => ({
      ...rest,
      held: held === null ? null : snapshotDocument(held),
    }));
    printJson({ pipelines, leftBehind }, app.out);
    return 0;
  }
  printTable(
    ['pipeline', 'destination', 'holds', 'file date', 'rows', 'loaded', 'last run', 'rejected', 'last error'],
    statuses.map(({ pipeline, object, destination, held, lastRun, rejected }) => [
      pipeline,
      `${destination} ${object}`,
      held === null ? null : holds(held),
      held?.date ?? null,
      held === null ? null : formatNumber(held.rows),
      held === null ? null : `${formatDuration(Math.max(0, Date.now() - Date.parse(held.loadedAt)))} ago`,
      lastRun?.outcome ?? null,
      rejected,
      lastRun === null || lastRun.errorCode === '' ? null : `${lastRun.errorCode}: ${lastRun.error}`,
    ]),
    app.out,
  );
  for (const { pipeline, object, cluster } of statuses) {
    if (cluster === undefined) continue;
    const replicas = cluster.replicas.map(replicaText).join('; ');
    app.out.write(`${printable(`${pipeline}: ${object} in the cluster ${cluster.name}: ${replicas}`)}\n`);
  }
  for (const { pipeline, history } of statuses) {
    if (history !== undefined) app.out.write(`${printable(`${pipeline}: ${historyStatusText(history)}`)}\n`);
  }
  for (const { pipeline, object, held, into } of left) {
    const what =
      held === null ? 'rows of a load that was not finished' : `${held.file}, ${formatNumber(held.rows)} rows`;
    const whose =
      into === undefined
        ? 'which is not in the configuration'
        : `into ${into}, which is not the table of its configuration`;
    app.out.write(`${object}: ${what}, of pipeline ${pipeline}, ${whose}; left alone\n`);
  }
  return 0;
}

/** The file, and how much of it is there if it is partial. */
function holds({ file, partial }: LoadedSnapshot): string {
  if (partial === undefined) return file;
  return `${file} (${formatNumber(partial.sent)} of ${formatNumber(partial.of)} messages)`;
}

/** The most rejects that are printed. */
const REJECTS_SHOWN = 1000;

/** @throws DESTINATION_* */
export async function rejectsCommand(app: App, name: string | undefined): Promise<number> {
  const rejects: RecordedReject[] = [];
  for (const pipeline of selectPipelines(app.pipelines, name === undefined ? [] : [name])) {
    for (const destination of await pipeline.destinations(app.signal)) {
      // Destinations of one pipeline read the same lines. A line that several rejected is shown once.
      const told = new Set(rejects.map(identity));
      rejects.push(...(await destination.rejects(REJECTS_SHOWN, app.signal)).filter((one) => !told.has(identity(one))));
      await destination.close();
    }
  }
  if (app.json) {
    printJson({ rejects }, app.out);
  } else if (rejects.length === 0) {
    app.out.write('no rejected lines are on record\n');
  } else {
    printTable(
      ['pipeline', 'file', 'line', 'reason', 'detail', 'raw'],
      rejects.map((reject) => [
        reject.pipeline,
        reject.file,
        String(reject.line),
        reject.reason,
        reject.detail,
        reject.raw.slice(0, 200),
      ]),
      app.out,
    );
  }
  return 0;
}

function identity({ pipeline, file, line, reason }: RecordedReject): string {
  return JSON.stringify([pipeline, file, line, reason]);
}
