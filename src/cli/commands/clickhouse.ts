/** `domainsync clickhouse`: runs the embedded server in the foreground, for other programs. */

import type { App } from '../app.ts';
import { printJson } from '../output.ts';

/** How other programs reach the embedded server. */
interface EmbeddedAddress {
  readonly url: string;
  readonly username: string;
  readonly database: string;
  /** Contains the password, which is never printed. */
  readonly passwordFile: string;
}

/** Serves until the signal aborts. */
export async function clickhouseCommand(app: App, address: EmbeddedAddress): Promise<number> {
  const { url, username, database, passwordFile } = address;
  if (app.json) {
    printJson(address, app.out);
  } else {
    app.out.write(`The embedded ClickHouse listens on ${url}
  user      ${username}
  password  in the file ${passwordFile}
  database  ${database}

Try it:
  curl -u "${username}:$(cat '${passwordFile}')" '${url}/?database=${database}' -d 'SHOW TABLES'

Ctrl-C ends it, when no other command uses it.
`);
  }
  await new Promise<void>((resolve) => {
    if (app.signal.aborted) return resolve();
    app.signal.addEventListener('abort', () => resolve(), { once: true });
    // A signal listener alone does not keep the process alive.
    const alive = setInterval(() => {}, 60_000);
    app.signal.addEventListener('abort', () => clearInterval(alive), { once: true });
  });
  return 0;
}
