/**
 * Where a download route sends on to. Pure.
 *
 * A 302 has two meanings there. By service-spec 5 and 7 it says that there is no session, so the key was not taken; but
 * services that keep their files elsewhere answer so too, with the signed URL of a file. They are told apart by where
 * it leads: to a file's name, or on to another download route, is followed; elsewhere at the service is its sign-in
 * page; another server is asked, without the key, and only a file from it counts. The other redirects (301, 303, 307,
 * 308) have one meaning and are followed.
 */

const STATUSES: readonly number[] = [301, 302, 303, 307, 308];
const FILE_PATH = /\.jsonl\.zst$/iu;

/** Answers in a row that send on. */
export const MAX_REDIRECTS = 5;

export interface Redirecting {
  readonly status: number;
  /** The Location header. */
  readonly location: string | null;
  /** What answered so. */
  readonly from: URL;
  /** {base_url} of the service. */
  readonly service: URL;
  readonly apiKey: string | undefined;
}

export type Redirect =
  /** `sure`: false where it may also lead to a sign-in page. */
  | { readonly kind: 'follow'; readonly url: URL; readonly sure: boolean }
  /** The key was not taken. */
  | { readonly kind: 'sign-in' }
  | { readonly kind: 'refuse'; readonly reason: string };

export function isRedirect(status: number): boolean {
  return STATUSES.includes(status);
}

/** What to make of a redirect. A URL to follow is given without user, password and fragment. */
export function judgeRedirect({ status, location, from, service, apiKey }: Redirecting): Redirect {
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

/** Looks a header up by its name in lower case. */
type HeaderOf = (name: string) => string | null;

/** The headers of an answer, where servers of files leave the name to the URL: it then stands for Content-Disposition. */
export function urlNamed(url: URL, header: HeaderOf): HeaderOf {
  const segment = decoded(url.pathname.slice(url.pathname.lastIndexOf('/') + 1));
  if (!FILE_PATH.test(segment)) return header;
  return (name) => {
    const value = header(name);
    if (name !== 'content-disposition' || /filename/iu.test(value ?? '')) return value;
    return `attachment; filename*=UTF-8''${encodeURIComponent(segment)}`;
  };
}

/** A URL as it may be shown: its query may hold a signature. */
export function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
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
