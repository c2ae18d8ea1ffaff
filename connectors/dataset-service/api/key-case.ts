/**
 * The forms in which the key of a slice may stand in paths. The specification asks for lower case (service-spec 4), in words
 * that follow technology names; whether a service that files countries under `DE` means them too is found out by asking.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { ServiceRoute, Target } from '../../../src/types/index.ts';
import type { Client } from '../http/client.ts';

export type KeyCase = 'lower' | 'upper';

/**
 * Asks for a target, of a country in the other case too where the service does not know the first. What it knew last is
 * asked for first the next time; until then, what the user wrote is.
 * @param ask one request, of the target as it is given there
 * @throws what `ask` throws; SOURCE_NOT_FOUND only when it does so for every form
 */
export async function inEachForm<T>(
  client: Client,
  target: Target,
  route: ServiceRoute,
  ask: (asked: Target) => Promise<T>,
): Promise<T> {
  const unknown: DomainsyncError[] = [];
  for (const { form, asked } of formsOf(target, client.countryCases.get(route))) {
    try {
      const answer = await ask(asked);
      if (form !== null) client.countryCases.set(route, form);
      return answer;
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

interface Form {
  /** Null: the only one that there is. */
  readonly form: KeyCase | null;
  readonly asked: Target;
}

function formsOf(target: Target, known: KeyCase | undefined): readonly Form[] {
  const { slice } = target;
  if (slice?.scope !== 'country') return [{ form: null, asked: target }];
  const written = slice.written ?? slice.key;
  const upper = { form: 'upper', asked: { ...target, slice: { ...slice, key: written.toUpperCase() } } } as const;
  const lower = { form: 'lower', asked: { ...target, slice: { ...slice, key: written.toLowerCase() } } } as const;
  const likely = known ?? (written === upper.asked.slice.key ? 'upper' : 'lower');
  return likely === 'upper' ? [upper, lower] : [lower, upper];
}
