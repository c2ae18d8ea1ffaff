/** stdout for what others wrote. */

import type { App } from './app.ts';
import type { TextSink } from './output.ts';

/** stdout, without the secrets of the configuration: a service may repeat the key that it was sent. */
export function redacted({ out, redact }: Pick<App, 'out' | 'redact'>): TextSink {
  return {
    write: (text) => out.write(redact(text)),
    get columns() {
      return out.columns;
    },
  };
}
