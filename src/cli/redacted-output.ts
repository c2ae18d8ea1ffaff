/** stdout for text from others. */

import type { App } from './app.ts';
import type { TextSink } from './output.ts';

/** stdout with the configuration's secrets removed: a service may repeat the key it was sent. */
export function redacted({ out, redact }: Pick<App, 'out' | 'redact'>): TextSink {
  return {
    write: (text) => out.write(redact(text)),
    get columns() {
      return out.columns;
    },
  };
}
