/**
 * Redirects of download routes. Pure.
 *
 * A 302 has two meanings there. By service-spec 5 and 7 there is no session: the service did not accept the key. But
 * services that keep their files elsewhere also send a 302, with the signed URL of a file. The target tells them apart:
 * - A URL that ends in a file's name, or is another download route of the service, is followed.
 * - Any other URL of the service is its sign-in page.
 * - Another server gets a request without the key, and only a file from it counts.
 * The other redirects (301, 303, 307, 308) have one meaning and are followed.
 */
import type { HeaderOf } from './content.ts';

const STATUSES: readonly number[] = [301, 302, 303, 307, 308];
const FILE_PATH = /\.jsonl\.zst$/iu;

/** The most redirects in a row. */
export const MAX_REDIRECTS = 5;

interface RedirectResponse {
  readonly status: number;
  /** The Location header. */
  readonly location: string | null;
  /** The URL that redirects. */
  readonly from: URL;
  /** {base_url} of the service. */
  readonly service: URL;
  readonly apiKey: string | undefined;
}

type RedirectVerdict =
  /** `sure`: false where the URL may also be a sign-in page. */
  | { readonly kind: 'follow'; readonly url: URL; readonly sure: boolean }
  /** The service did not accept the key. */
  | { readonly kind: 'sign-in' }
  | { readonly kind: 'refuse'; readonly reason: string };

export function isRedirect(status: number): boolean {
  return STATUSES.includes(status);
}

/** Decides what a redirect means. The URL to follow has no user, password and fragment. */
export function judgeRedirect({ status, location, from, service, apiKey }: RedirectResponse): RedirectVerdict {
  const mayBeSignIn = status === 302 && from.origin === service.origin;
  const url = location === null ? null : URL.parse(location, from.href);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return mayBeSignIn
      ? { kind: 'sign-in' }
      : { kind: 'refuse', reason: 'a redirect to nowhere that could be followed' };
  }
  url.username = '';
  url.password = '';
  url.hash = '';
  const toFile = FILE_PATH.test(decoded(url.pathname));
  const atService = url.origin === service.origin;
  if (mayBeSignIn && atService && !toFile && !isDownloadPath(url, service)) return { kind: 'sign-in' };
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    if (mayBeSignIn && !toFile) return { kind: 'sign-in' };
    return { kind: 'refuse', reason: 'a redirect from https to http, which is not followed:' };
  }
  if (!atService && apiKey !== undefined && decoded(url.href).includes(apiKey)) {
    return { kind: 'refuse', reason: 'a redirect that would hand the key to another server:' };
  }
  return { kind: 'follow', url, sure: !mayBeSignIn || atService || toFile };
}

/** The headers of a response. The name in the URL of a file server replaces a missing Content-Disposition. */
export function urlNamed(url: URL, header: HeaderOf): HeaderOf {
  const segment = decoded(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  if (!FILE_PATH.test(segment)) return header;
  return (name) => {
    const value = header(name);
    if (name !== 'content-disposition' || /filename/iu.test(value ?? '')) return value;
    return `attachment; filename*=UTF-8''${encodeURIComponent(segment)}`;
  };
}

/** A URL without its query, which may hold a signature. */
export function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** A Location header without its query, user and password. */
export function shownLocation(location: string): string {
  return location.replace(/[?#].*$/su, '').replace(/\/\/[^/@]*@/u, '//');
}

function isDownloadPath(url: URL, service: URL): boolean {
  return url.pathname.startsWith(`${service.pathname.replace(/\/+$/u, '')}/api/download/`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
