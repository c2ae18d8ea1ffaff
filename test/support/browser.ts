/** The machine's real Chromium. Downloads nothing. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** A page and everything that it complained of. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors on the console, exceptions, and what the Content-Security-Policy kept from happening. */
  readonly complaints: string[];
}

export interface TestBrowser {
  open(options?: BrowserContextOptions): Promise<WatchedPage>;
}

/** Starts a browser, runs the body, and ends it, also when the body fails. */
export async function withBrowser(body: (browser: TestBrowser) => Promise<void>): Promise<void> {
  // Without a sandbox of its own, which root does not get.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: await executable(), args });
  try {
    await body({ open: (options) => openPage(browser, options) });
  } finally {
    await browser.close();
  }
}

async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return { page, complaints };
}

async function executable(): Promise<string> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path;
    }
  }
  throw new Error('the tests of the status page need Chromium: apt-get install chromium');
}
