/** `domainsync contract`: where the service's OpenAPI document differs from what domainsync relies on. */
import { ERROR_KINDS } from '../../common/errors.ts';
import { formatNumber } from '../../common/format.ts';
import type { App } from '../app.ts';
import { printJson, printTable } from '../output.ts';
import { redacted } from '../redacted-output.ts';

/** @returns 0 if everything domainsync relies on is there, else 6. @throws SOURCE_* */
export async function contractCommand(app: App): Promise<number> {
  const { document, differences, endpoints } = await app.api().contract(app.signal);
  const missing = differences.filter(({ severity }) => severity === 'missing').length;
  const out = redacted(app);
  if (app.json) {
    printJson({ agrees: missing === 0, endpoints, differences, document }, out);
  } else {
    if (differences.length > 0) {
      const rows = differences.map(({ severity, where, what }) => [severity, where, what]);
      printTable(['severity', 'where', 'what'], rows, out);
      out.write('\n');
    }
    const verdict =
      missing > 0
        ? `what domainsync relies on is missing in ${formatNumber(missing)} ${missing === 1 ? 'place' : 'places'}: look for a newer version of domainsync`
        : `all that domainsync relies on is there, at ${endpoints} endpoints`;
    out.write(`${verdict}\n`);
  }
  return missing === 0 ? 0 : ERROR_KINDS.SOURCE_UNEXPECTED.exitCode;
}
