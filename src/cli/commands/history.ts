/** `domainsync history`: what was known of a domain and when, where a destination keeps the versions of rows. */
import { readHistory } from '../../pipeline/read-history.ts';
import type { App } from '../app.ts';
import { historyLines } from '../history-text.ts';
import { printJson } from '../output.ts';
import { redacted } from '../redacted-output.ts';
import { selectPipelines } from '../select-pipelines.ts';

/** @throws USAGE where the pipeline keeps none, DESTINATION_* */
export async function historyCommand(app: App, name: string, domain: string): Promise<number> {
  const out = redacted(app);
  for (const pipeline of selectPipelines(app.pipelines, [name])) {
    const document = await readHistory(pipeline, domain, app.signal);
    if (app.json) printJson(document, out);
    else out.write(`${historyLines(document, app.redact).join('\n')}\n`);
  }
  return 0;
}
