/** Paths of requests, made from the table of endpoints; and the routes that a target's requests take. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { ServiceRoute, Target } from '../../../src/types/index.ts';
import { ENDPOINTS } from '../endpoints.ts';

export function downloadRoute({ slice }: Target): ServiceRoute {
  return slice === undefined ? 'download' : 'download-slice';
}

/** The path of a target's file. Technologies stand there in lower case (docs/service.md, "Endpoints"), other keys as given. */
export function downloadPath(target: Target): string {
  const { dataset: slug, slice } = target;
  if (slice === undefined) return pathOf('download', { slug });
  const { scope, key } = slice;
  return pathOf('download-slice', { slug, scope, key: scope === 'technology' ? key.toLowerCase() : key });
}

export function sampleRoute({ slice }: Target): ServiceRoute {
  return slice === undefined ? 'preview' : 'sample';
}

/**
 * The path of the free sample of a target. Keys of countries stand there as given, others in lower case (docs/service.md, "Endpoints").
 * @throws USAGE when the key is empty, or makes the path that of another endpoint
 */
export function samplePath({ dataset, slice }: Target): string {
  const query = `?dataset=${encodeURIComponent(dataset)}`;
  if (slice === undefined) return `${pathOf('preview')}${query}`;
  const { scope, key } = slice;
  if (/^\.{0,2}$/u.test(key)) throw new DomainsyncError('USAGE', `'${key}' is no key of a slice`);
  return `${pathOf('sample', { scope, key: scope === 'country' ? key : key.toLowerCase() })}${query}`;
}

/** The path of the download history. @param limit undefined: the service's own default */
export function historyPath(limit: number | undefined): string {
  return `${pathOf('downloads')}${limit === undefined ? '' : `?limit=${limit}`}`;
}

function pathOf(route: ServiceRoute, values: Readonly<Record<string, string>> = {}): string {
  return ENDPOINTS[route].path.replace(/\{(\w+)\}/gu, (_all, name) => encodeURIComponent(values[name] ?? ''));
}
