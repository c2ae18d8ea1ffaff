/** The status page in a real Chromium. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PipelineStatus } from '../../../src/worker/state/status.ts';
import { withBrowser } from '../../support/browser.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { until } from '../../support/until.ts';
import { asked, type TestWorker, untilHolds, withWorkers } from '../../support/worker/workers.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const TOKEN = 'page-token-0123456789';
const PIPELINES = `  all: { dataset: all-data, to: { clickhouse: { table: everything } } }
  dns: { dataset: dns, to: { clickhouse: { table: dns } } }
  rare: { dataset: dns, slice: { scope: tld, key: qq }, to: { clickhouse: { table: rare } } }`;

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function card(page: Page, name: string): ReturnType<Page['locator']> {
  return page.locator('section.card', { has: page.locator(`#pipeline-${name}`) });
}

/** Presses the button of a pipeline, by keyboard. */
async function syncNow(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `Sync ${name} now` }).focus();
  await page.keyboard.press('Enter');
}

async function signIn(page: Page, worker: TestWorker): Promise<void> {
  await page.goto(await worker.url());
  await page.getByLabel('Token').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('That is not the token.').waitFor();
  await page.getByLabel('Token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await page.locator('section.card').first().waitFor();
}

test('it asks for the token, starts a load by keyboard and shows its progress, and says when the worker is gone', async () => {
  await withWorkers({ rows: 60_000, clickhouse: lab.clickhouse }, async ({ project, configure, start }) => {
    await configure(PIPELINES, { worker: `http: 127.0.0.1:0, token: ${TOKEN}` });
    const worker = start();
    await withBrowser(async (browser) => {
      const { page, complaints } = await browser.open({ viewport: { width: 1000, height: 900 } });
      await signIn(page, worker);
      // Two answers of 401, to the first visit and to the wrong token, are what a browser tells as errors.
      expect(complaints.splice(0).map((text) => /status of 401/.test(text))).toEqual([true, true]);
      const all = card(page, 'all');
      await all.getByText('Nothing loaded yet').waitFor();
      expect(await page.locator('#summary').textContent()).toBe('3 pipelines');

      project.sandbox.misbehave({
        fault: { kind: 'stall', afterBytes: 4_500_000 },
        path: '/api/download/all-data',
        probe: false,
      });
      await syncNow(page, 'all');
      await all.getByText('Loading', { exact: true }).waitFor();
      const bar = all.getByRole('progressbar');
      const value = await until(async () => Number(await bar.getAttribute('aria-valuenow')));
      expect(value).toBeLessThan(100);
      await all.getByText(new RegExp(`sandbox-all-data-${project.sandbox.date()}\\.jsonl\\.zst: \\d+ %`)).waitFor();
      project.sandbox.behave();
      expect(await worker.end('SIGTERM')).toMatchObject({ code: 0 });
      await page.getByText('The worker does not answer').waitFor();
      expect(complaints.splice(0).every((text) => /ERR_|Failed to load/.test(text))).toBe(true);
    });
  });
});

test('loads that have ended, plots, an error with what to do, rejected lines; on a phone, in the dark, without a complaint', async () => {
  await withWorkers({ rows: 2_000, clickhouse: lab.clickhouse }, async ({ project, configure, start }) => {
    await configure(PIPELINES);
    const worker = start();
    await asked(worker, 'all');
    await untilHolds(worker, 'all', project.sandbox.date());
    for (let n = 0; n < 3; n += 1) {
      const date = await project.sandbox.publish();
      await until(async () => (await worker.pipeline('all')).queued === null);
      await asked(worker, 'all');
      await untilHolds(worker, 'all', date);
    }
    const bytes = zstdCompressSync('{"Domain":"a.com"}\n<img src=x onerror=alert(1)> \u001b[31m\n');
    await project.sandbox.publishFile({ target: 'dns', date: '2027-01-01', content: { bytes } });
    await withBrowser(async (browser) => {
      const { page, complaints } = await browser.open({ viewport: { width: 1040, height: 1180 } });
      await page.goto(await worker.url());
      await card(page, 'all').getByText('Up to date').waitFor();
      expect(await card(page, 'all').getByRole('img').count()).toBe(2);
      expect(await card(page, 'all').getByRole('img').nth(1).getAttribute('aria-label')).toMatch(
        /^Changes of 4 files; with the newest \d+ inserted, \d+ updated, \d+ deleted$/,
      );
      await syncNow(page, 'dns');
      const dns = card(page, 'dns');
      await dns.getByText('FILE_TOO_MANY_REJECTED', { exact: true }).waitFor();
      await dns.getByText('What to do: Look at them with').waitFor();
      await dns.getByText('not tried again until the file or the configuration changes').waitFor();
      await syncNow(page, 'rare');
      await card(page, 'rare').getByText('Not found', { exact: true }).waitFor();
      project.sandbox.misbehave({ fault: { kind: 'status', status: 403 }, route: 'download-slice' });
      await syncNow(page, 'rare');
      await card(page, 'rare').getByText('No access').waitFor();
      await dns.getByRole('button', { name: '1 rejected line' }).click();
      const dialog = page.getByRole('dialog', { name: 'Rejected lines of dns' });
      await dialog.getByText('<img src=x onerror=alert(1)>').waitFor();
      expect(await page.locator('dialog img').count()).toBe(0);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      await card(page, 'all').getByText('Runs').click();
      expect(await card(page, 'all').locator('.runs tbody tr').count()).toBe(4);
      await card(page, 'all').getByText('Runs').click();
      await saveScreenshot(page);

      const phone = await browser.open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', hasTouch: true });
      await phone.page.goto(await worker.url());
      await card(phone.page, 'all').getByText('Up to date').waitFor();
      expect(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      const [red] = (await phone.page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g)',
      )) as string[];
      expect(Number(red)).toBeLessThan(50);
      expect([...complaints, ...phone.complaints]).toEqual([]);
    });
  });
});

test('replicas that do not answer or are behind', async () => {
  await withWorkers({ rows: 100, clickhouse: lab.clickhouse }, async ({ configure, start }) => {
    await configure(PIPELINES);
    const worker = start();
    await asked(worker, 'dns');
    await until(async () => (await worker.pipeline('dns')).destinations[0]?.held != null);
    const replica = { name: 'r1:9000', home: true, answers: true, behindSeconds: 0, queue: 0 };
    const replicas = [replica, { ...replica, name: 'r2:9000' }, { ...replica, name: 'r3:9000' }];
    await withBrowser(async (browser) => {
      const { page, complaints } = await browser.open();
      // What a worker tells of one server, with replicas that this server does not have.
      await page.route('**/api/events', (route) => route.abort());
      await page.route('**/api/status', async (route) => {
        const response = await route.fetch();
        const status = (await response.json()) as { pipelines: PipelineStatus[] };
        const pipelines = status.pipelines.map((pipeline) => ({
          ...pipeline,
          lagging: { clickhouse: ['r3:9000'] },
          destinations: pipeline.destinations.map((one) => ({ ...one, cluster: { name: 'c1', replicas } })),
        }));
        await route.fulfill({ response, json: { ...status, pipelines } });
      });
      const told = async (name: string): Promise<string | null> => {
        await page.goto(await worker.url());
        const fact = card(page, name).locator('dl > div', { has: page.getByText('Replicas', { exact: true }) });
        expect(await fact.locator('dd').getAttribute('title')).toBe(
          'cluster c1: r1:9000, r2:9000, r3:9000; the last file was recorded before it showed on r3:9000',
        );
        return fact.locator('dd').textContent();
      };
      expect(await told('dns')).toBe('3 up to date');
      replicas[1] = { ...replica, name: 'r2:9000', behindSeconds: 130 };
      replicas[2] = { ...replica, name: 'r3:9000', answers: false };
      expect(await told('dns')).toBe('r2:9000 is 2 min behind, r3:9000 does not answer');
      expect(await told('rare')).toBe('r2:9000 is 2 min behind, r3:9000 does not answer');
      expect(complaints.filter((text) => !text.includes('net::ERR_FAILED'))).toEqual([]);
    });
  });
});

/** With SCREENSHOT set to a path it becomes docs/status-page.png; otherwise it is only seen that there is one. */
async function saveScreenshot(page: Page): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-page-'));
  try {
    const path = process.env['SCREENSHOT'] ?? join(folder, 'page.png');
    await page.screenshot({ path });
    expect((await stat(path)).size).toBeGreaterThan(10_000);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('the modules of the page pass the compiler', async () => {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '-p', join(ROOT, 'src/worker/page')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT }).catch((error) => error);
  expect(stdout).toBe('');
});
