/**
 * The upper and lower case of a country's key in paths. The specification asks for lower case (docs/service.md, "Endpoints"), in words that
 * follow technology names. A service may still file countries under `DE`: only a request shows which case it knows.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { ServiceRoute, Target } from '../../../src/types/index.ts';
import type { Client, KeyCase } from '../http/client.ts';

/**
 * Asks for a target. A country that the service does not know in one case is asked for in the other case too. The case that
 * the service knew last comes first; before the first success, the user's own case comes first.
 * @param ask sends one request for the target that it is given
 * @throws what `ask` throws; SOURCE_NOT_FOUND when neither case is known
 */
export async function inEitherCase<T>(
  client: Client,
  target: Target,
  route: ServiceRoute,
  ask: (asked: Target) => Promise<T>,
): Promise<T> {
  const unknown: DomainsyncError[] = [];
  for (const { keyCase, asked } of casesOf(target, client.countryCases.get(route))) {
    try {
      const found = await ask(asked);
      if (keyCase !== null) client.countryCases.set(route, keyCase);
      return found;
    } catch (error) {
      if (!(error instanceof DomainsyncError) || error.code !== 'SOURCE_NOT_FOUND') throw error;
      unknown.push(error);
    }
  }
  const [first, second] = unknown;
  if (first === undefined || second === undefined) throw first;
  const { hint } = first;
  throw client.error('SOURCE_NOT_FOUND', `${first.message}; ${second.message}`, { cause: first, hint });
}

interface CasedTarget {
  /** Null: the target is no country, and has one form only. */
  readonly keyCase: KeyCase | null;
  readonly asked: Target;
}

function casesOf(target: Target, known: KeyCase | undefined): readonly CasedTarget[] {
  const { slice } = target;
  if (slice?.scope !== 'country') return [{ keyCase: null, asked: target }];
  const written = slice.written ?? slice.key;
  const upper = { keyCase: 'upper', asked: { ...target, slice: { ...slice, key: written.toUpperCase() } } } as const;
  const lower = { keyCase: 'lower', asked: { ...target, slice: { ...slice, key: written.toLowerCase() } } } as const;
  const likely = known ?? (written === upper.asked.slice.key ? 'upper' : 'lower');
  return likely === 'upper' ? [upper, lower] : [lower, upper];
}
