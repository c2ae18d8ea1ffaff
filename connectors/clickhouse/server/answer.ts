/** Answers of a server, and whether they are whole. */
import type { ResponseHeaders } from '@clickhouse/client';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { FULL_DISK_HINT } from './errors.ts';

/** What a statement gave, and the headers that it came with. */
export interface Answered<T> {
  readonly value: T;
  readonly headers: ResponseHeaders;
}

/** An answer that was cut short must not count as an empty one: the tables would seem to hold nothing. */
export function checkWhole(rows: number, summary: string | string[] | undefined): void {
  if (typeof summary !== 'string') return;
  const { result_rows: sent } = JSON.parse(summary) as { result_rows?: string };
  if (sent === undefined || Number(sent) === rows) return;
  throw new DomainsyncError('DESTINATION_UNREACHABLE', `ClickHouse sent ${rows} of ${sent} rows of an answer`, {
    hint: FULL_DISK_HINT,
  });
}
