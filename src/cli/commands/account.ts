/** `domainsync datasets`, `me`, `orders` and `downloads`: the catalog and the account, as the service reports them. */

import type { Listing } from '../../types/index.ts';
import type { App } from '../app.ts';
import { printJson } from '../output.ts';
import { redacted } from '../redacted-output.ts';
import { fieldsOf, printDocument, printRecords } from '../service-records.ts';

/** The catalog; needs no key. @throws SOURCE_* */
export async function datasetsCommand(app: App): Promise<number> {
  return printListing(app, await app.api().datasets(app.signal), 'the catalog is empty');
}

/** @throws SOURCE_* */
export async function ordersCommand(app: App): Promise<number> {
  return printListing(app, await app.api().orders(app.signal), 'the account has no orders');
}

/** @param limit 1 to 500; undefined: the service's default. @throws SOURCE_* */
export async function downloadsCommand(app: App, limit: number | undefined): Promise<number> {
  return printListing(app, await app.api().downloads(limit, app.signal), 'the account has no downloads');
}

/** @throws SOURCE_* */
export async function meCommand(app: App): Promise<number> {
  const me = await app.api().me(app.signal);
  if (app.json) printJson(me, redacted(app));
  else printDocument(me, redacted(app));
  return 0;
}

function printListing(app: App, { document, entries }: Listing, whenEmpty: string): number {
  const out = redacted(app);
  if (app.json) printJson(document, out);
  else if (entries === null) printDocument(document, out);
  else if (entries.length === 0) out.write(`${whenEmpty}\n`);
  else printRecords(entries, fieldsOf(entries), out);
  return 0;
}
