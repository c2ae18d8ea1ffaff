/** What is known of a domain: asked of a worker, and on its page in a real Chromium. */
import { zstdCompressSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withBrowser } from '../../support/browser.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import type { Project } from '../../support/project.ts';
import { asked, type TestWorker, untilHolds, withWorkers } from '../../support/worker/workers.ts';

const PIPELINES = `  dns: { dataset: dns, to: { clickhouse: { table: dns, history: true } } }
  plain: { dataset: dns, slice: { scope: tld, key: de }, to: { clickhouse: { table: plain } } }`;
const HOSTILE = '<img src=x onerror=alert(1)> \u001b[31m';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Loads three files: the domain comes, its name and its country are hostile then, and it goes. */
async function loadStory(project: Project, worker: TestWorker): Promise<void> {
  const stay = ['x.example', 'y.example', 'z.example'].map((Domain) => ({ Domain }));
  const row = { Domain: 'a.example', 'Country by IP': 'DE', Technologies: ['PHP'] };
  const hostile = { ...row, 'Country by IP': `${HOSTILE}${project.sandbox.key}`, Technologies: { [HOSTILE]: '1' } };
  for (const [date, rows] of [
    ['2027-01-01', [row]],
    ['2027-01-02', [hostile]],
    ['2027-01-03', []],
  ] as const) {
    const bytes = zstdCompressSync([...stay, ...rows].map((one) => JSON.stringify(one)).join('\n'));
    await project.sandbox.publishFile({ target: 'dns', date, content: { bytes } });
    await asked(worker, 'dns');
    await untilHolds(worker, 'dns', date);
  }
}

test('a worker tells what a domain was, without secrets; and since when it is known', async () => {
  await withWorkers({ rows: 10, clickhouse: lab.clickhouse }, async ({ project, configure, start }) => {
    await configure(PIPELINES);
    const worker = start();
    await loadStory(project, worker);
    const object = `${project.database}.dns_versions`;
    const response = await worker.get('/api/pipelines/dns/history?domain=A.EXAMPLE.');
    const text = await response.text();
    expect([response.status, text.includes(project.sandbox.key)]).toEqual([200, false]);
    const { versions, events, ...rest } = JSON.parse(text);
    expect(rest).toEqual({ pipeline: 'dns', domain: 'a.example', object, since: '2027-01-01' });
    expect(versions).toMatchObject([
      { from: '2027-01-01', to: '2027-01-02', row: { domain: 'a.example', country: 'DE' }, changed: [] },
      {
        from: '2027-01-02',
        to: '2027-01-03',
        changed: [
          { column: 'country', old: 'DE', new: `${HOSTILE}***` },
          { column: 'technologies', old: { PHP: '' }, new: { [HOSTILE]: '1' } },
        ],
      },
    ]);
    expect(events).toMatchObject([
      { date: '2027-01-01', kind: 'first' },
      { date: '2027-01-02', kind: 'changed' },
      { date: '2027-01-03', kind: 'gone', values: [], more: 0 },
    ]);
    expect(events[1].values).toContainEqual({
      name: 'country',
      old: 'DE',
      new: String.raw`<img src=x onerror=alert(1)> \x1b[31m***`,
    });
    const never = await worker.get('/api/pipelines/dns/history?domain=never.example');
    expect([never.status, await never.json()]).toMatchObject([200, { versions: [], events: [] }]);
    const plain = await worker.get('/api/pipelines/plain/history?domain=a.example');
    const hint = expect.stringContaining('history: true');
    expect([plain.status, await plain.json()]).toMatchObject([400, { code: 'USAGE', hint }]);
    const { destinations } = await worker.pipeline('dns');
    expect(destinations[0]?.history).toMatchObject({
      object: `${project.database}.dns_history`,
      kept: true,
      since: '2027-01-01',
      until: '2027-01-03',
    });
  });
});

test('the search box, by keyboard; on a phone, in the dark, without a complaint', async () => {
  await withWorkers({ rows: 10, clickhouse: lab.clickhouse }, async ({ project, configure, start }) => {
    await configure(PIPELINES);
    const worker = start();
    await loadStory(project, worker);
    await withBrowser(async (browser) => {
      const { page, complaints } = await browser.open();
      await page.goto(await worker.url());
      const card = page.getByRole('region', { name: 'dns' });
      const since = card.locator('dl > div', { has: page.getByText('History since', { exact: true }) });
      expect(await since.locator('dd').textContent()).toBe('2027-01-01');
      await search(page, 'a.example');
      const dialog = page.getByRole('dialog', { name: 'History of a.example' });
      await dialog.getByRole('status').getByText('2 versions, known since 2027-01-01').waitFor();
      expect(await dialog.getByRole('heading', { level: 3 }).allTextContents()).toEqual([
        'From 2027-01-01',
        'Changed 2027-01-02',
        'Gone from 2027-01-03',
      ]);
      const changes = dialog.getByRole('listitem').nth(1).locator('dl > div');
      expect(await changes.allTextContents()).toEqual([
        String.raw`countryDE → <img src=x onerror=alert(1)> \x1b[31m***`,
        String.raw`technologies.<img src=x onerror=alert(1)> \x1b[31m- → 1`,
        "technologies.PHP'' → -",
      ]);
      expect(await page.locator('dialog img').count()).toBe(0);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      expect(await page.evaluate('document.activeElement.id')).toBe('history-dns');
      await search(page, 'never.example');
      await page.getByRole('status').getByText('no version is on record').waitFor();
      await page.getByRole('button', { name: 'Close' }).press('Enter');
      // What a worker refuses is shown with what to do.
      await search(page, ' ');
      await page.getByText('It cannot be shown: no domain is named').waitFor();
      expect(
        await page
          .getByRole('region', { name: 'plain' })
          .getByRole('searchbox', { name: 'History of a domain' })
          .count(),
      ).toBe(0);
      expect(complaints.splice(0).every((text) => /status of 400/.test(text))).toBe(true);

      const phone = await browser.open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', hasTouch: true });
      await phone.page.goto(await worker.url());
      await search(phone.page, 'a.example');
      await phone.page.getByText('2 versions').waitFor();
      expect(
        await phone.page.evaluate(
          '[document.documentElement, document.querySelector("dialog[open]")].every((one) => one.scrollWidth <= innerWidth)',
        ),
      ).toBe(true);
      expect(phone.complaints).toEqual([]);
    });
  });
});

/** Types a domain into the search box of the pipeline, and presses Enter. */
async function search(page: Page, domain: string): Promise<void> {
  await page.getByRole('region', { name: 'dns' }).getByRole('searchbox', { name: 'History of a domain' }).fill(domain);
  await page.keyboard.press('Enter');
}
