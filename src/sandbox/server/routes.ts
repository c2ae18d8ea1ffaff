/** Maps a path to its endpoint (docs/service.md, "Endpoints"). Pure. */
import type { SliceScope, Target } from '../../types/index.ts';
import type { RouteName } from './limits.ts';

export interface Route {
  readonly name: RouteName;
  /** The target of sample and download routes. */
  readonly target?: Target;
}

const UNKNOWN: Route = { name: 'unknown' };

const FIXED: Readonly<Record<string, RouteName>> = {
  '/api/v1/datasets': 'datasets',
  '/api/v1/preview': 'preview',
  '/api/v1/me': 'me',
  '/api/v1/me/orders': 'orders',
  '/api/v1/me/downloads': 'downloads',
  '/api/v1/openapi.json': 'openapi',
};

/** The endpoint of a URL. Paths without a known scope, or with an empty part, are unknown. */
export function routeOf(url: URL): Route {
  const fixed = Object.hasOwn(FIXED, url.pathname) ? FIXED[url.pathname] : undefined;
  if (fixed === 'preview') return { name: fixed, target: { dataset: url.searchParams.get('dataset') ?? '' } };
  if (fixed !== undefined) return { name: fixed };
  const parts = decoded(url.pathname);
  if (parts === null || parts.includes('')) return UNKNOWN;
  if (parts[0] !== 'api') return UNKNOWN;
  if (parts[1] === 'v1' && parts[2] === 'sample' && parts.length === 5) {
    return sliced('sample', url.searchParams.get('dataset') ?? '', parts[3], parts[4]);
  }
  if (parts[1] !== 'download') return UNKNOWN;
  if (parts.length === 3) return { name: 'download', target: { dataset: parts[2] ?? '' } };
  return parts.length === 5 ? sliced('download-slice', parts[2] ?? '', parts[3], parts[4]) : UNKNOWN;
}

function decoded(pathname: string): string[] | null {
  try {
    return pathname.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function sliced(name: RouteName, dataset: string, scope: string | undefined, key: string | undefined): Route {
  return isScope(scope) && key !== undefined ? { name, target: { dataset, slice: { scope, key } } } : UNKNOWN;
}

function isScope(text: string | undefined): text is SliceScope {
  return text === 'tld' || text === 'tld_suffix' || text === 'country' || text === 'technology';
}
