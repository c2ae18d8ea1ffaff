/** The files of the status page, read once. Nothing is loaded from elsewhere. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { contentSecurityPolicy } from './guard.ts';

interface Asset {
  readonly type: string;
  readonly body: string;
}

/** The parts of the page: the module, its imports, the styles, and the plot library. */
const OWN = [
  'app.js',
  'card.js',
  'runs.js',
  'dom.js',
  'format.js',
  'plots.js',
  'rejects.js',
  'history.js',
  'style.css',
  'icon.svg',
];
const OF_UPLOT = { 'uplot.js': 'uPlot.esm.js', 'uplot.css': 'uPlot.min.css' };

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface Assets {
  readonly page: string;
  /** By name under /assets/. */
  readonly files: ReadonlyMap<string, Asset>;
  /** The page that asks for the token, with the policy that its inline style needs. */
  signIn(message: string): { readonly body: string; readonly policy: string };
}

/** @throws Error when the package is incomplete */
export async function loadAssets(): Promise<Assets> {
  const folder = new URL('../page/', import.meta.url);
  const own = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');
  const files = new Map<string, Asset>();
  const add = (name: string, body: string): void => {
    files.set(name, { type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream', body });
  };
  for (const name of OWN) add(name, await own(name));
  for (const [name, file] of Object.entries(OF_UPLOT)) {
    add(name, await readFile(fileURLToPath(import.meta.resolve(`uplot/dist/${file}`)), 'utf8'));
  }
  const signIn = await own('sign-in.html');
  // The style is inline because nothing else is served before sign-in. The policy permits it by its hash alone.
  const style = /<style>([\s\S]*?)<\/style>/.exec(signIn)?.[1] ?? '';
  const policy = contentSecurityPolicy(`'sha256-${createHash('sha256').update(style).digest('base64')}'`);
  return {
    page: await own('index.html'),
    files,
    signIn: (message) => ({ body: signIn.replace('<!-- message -->', escaped(message)), policy }),
  };
}

/** Escapes text for HTML. */
export function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
