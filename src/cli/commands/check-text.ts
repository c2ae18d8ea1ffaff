/** The text output of `check`: one table, and below it one line per question. */
import type { DomainsyncError } from '../../common/errors.ts';
import { formatBytes, formatDuration, formatNumber } from '../../common/format.ts';
import { printable } from '../../common/printable.ts';
import type { DiskSpace, RequestsLeft } from '../../types/index.ts';
import type { App } from '../app.ts';
import { formatError, printTable } from '../output.ts';
import { redacted } from '../redacted-output.ts';
import { clusterText, replicaText } from '../replicas.ts';
import { keyText } from './check-key.ts';
import type { Checked, CheckReport } from './check-report.ts';

const ACTIONS: Readonly<Record<CheckReport['action'], string>> = {
  load: 'load it',
  current: 'do nothing',
  older: 'do nothing',
  'rolled-back': 'do nothing',
  fail: 'fail',
};
/** Width of the longest label. */
const LABEL = 11;

/** Writes results to stdout, and errors with their hints to stderr. */
export function printCheck(app: App, { key, requestsLeft, pipelines }: Checked): void {
  const out = redacted(app);
  printTable(
    ['pipeline', 'destination', 'newest file', 'date', 'size', 'holds', 'a sync would'],
    pipelines.map(({ pipeline, destination, newest, held, action }) => [
      pipeline,
      destination === '' ? null : destination,
      newest?.name ?? null,
      newest?.date ?? null,
      newest?.size == null ? null : formatBytes(newest.size),
      held?.file ?? null,
      ACTIONS[action],
    ]),
    out,
  );
  const line = (label: string, text: string): void => void out.write(`${label.padEnd(LABEL)} ${printable(text)}\n`);
  out.write('\n');
  if (key !== null) line('key', keyText(key));
  for (const { route, left, resetSeconds } of requestsLeft) line('limit', limitText({ route, left, resetSeconds }));
  for (const report of pipelines) {
    out.write(`\n${report.pipeline}\n`);
    for (const [label, text] of answersOf(report, key !== null)) line(`  ${label}`, text);
  }
  for (const { pipeline, errors } of pipelines) {
    for (const error of errors) process.stderr.write(`${pipeline}: ${formatError(error, app.redact)}\n`);
  }
}

function limitText({ route, left, resetSeconds }: RequestsLeft): string {
  const until = resetSeconds === null ? '' : ` for the next ${formatDuration(resetSeconds * 1000)}`;
  return `${formatNumber(left)} more requests of ${route}${until}`;
}

function answersOf(report: CheckReport, asked: boolean): (readonly [string, string])[] {
  const { newest, held, server, cluster, room, action, reason, errors, destination } = report;
  const answers: [string, string][] = [];
  if (asked) answers.push(['access', newest === null ? noAccessText(errors) : 'yes']);
  if (newest !== null) {
    const size = newest.size === null ? 'its size is not told' : formatBytes(newest.size);
    answers.push(['newest', `${newest.name}, of ${newest.date}, ${size}`]);
  }
  if (held !== null) {
    const rows = `${formatNumber(held.rows)} rows`;
    answers.push(['loaded', `${held.file}, of ${held.date}, ${rows}, since ${held.loadedAt}`]);
  } else answers.push(['loaded', destination === '' ? 'not known' : 'nothing yet']);
  if (server !== null) answers.push(['server', `ClickHouse ${server.version} at ${server.address}`]);
  else if (errors.some(({ code }) => code === 'DESTINATION_UNREACHABLE')) answers.push(['server', 'not reached']);
  else if (errors.some(({ code }) => !code.startsWith('SOURCE_'))) answers.push(['server', 'not known']);
  if (cluster !== null) {
    answers.push(['cluster', clusterText(cluster)]);
    for (const replica of cluster.replicas) answers.push(['replica', replicaText(replica)]);
  }
  if (room !== null) answers.push(['disk', roomText(room)]);
  answers.push(['a sync', action === 'fail' ? `would fail: ${reason}` : `would ${ACTIONS[action]}: ${reason}`]);
  return answers;
}

function noAccessText(errors: readonly DomainsyncError[]): string {
  const code = errors.find((error) => error.code.startsWith('SOURCE_'))?.code;
  if (code === 'SOURCE_NAME_MISMATCH') return 'yes, but to a file with another name';
  if (code === 'SOURCE_NOT_FOUND') return 'not known: the service has no such file, or not yet (SOURCE_NOT_FOUND)';
  return code === 'SOURCE_NO_ACCESS' ? 'no' : `not known: ${code ?? 'the service was not asked'}`;
}

function roomText({ folder, needed, free }: DiskSpace): string {
  const wanted = needed === null ? 'a download of unknown size' : `${formatBytes(needed)} to download`;
  return `${wanted}, ${free === null ? 'unknown room' : `${formatBytes(free)} free`} in ${folder}`;
}
