/** The hint for a dataset that the service does not know: the datasets of the catalog. */
import { asDomainsyncError, DomainsyncError } from '../common/errors.ts';
import { type Entry, sourceKey, type Target } from '../types/index.ts';
import type { PipelineContext } from './context.ts';

/** Fields where a catalog entry may have its slug (not specified), the likeliest first. */
const SLUG_FIELDS = ['slug', 'dataset', 'id', 'key', 'code', 'name'];
const SLUG = /^[a-z0-9][a-z0-9_.-]*$/iu;

/** The slugs found in a catalog. */
export function slugsOf(entries: readonly Entry[]): string[] {
  const field = SLUG_FIELDS.find((name) =>
    entries.every((entry) => typeof entry[name] === 'string' && SLUG.test(entry[name])),
  );
  return field === undefined ? [] : entries.map((entry) => String(entry[field]));
}

/** Returns the error itself; SOURCE_NOT_FOUND gets a hint with the datasets of the catalog. Throws nothing. */
export async function withKnownDatasets(
  context: Pick<PipelineContext, 'api' | 'nearest' | 'signal'>,
  thrown: unknown,
  target: Target,
): Promise<DomainsyncError> {
  const error = asDomainsyncError(thrown);
  if (error.code !== 'SOURCE_NOT_FOUND') return error;
  const slugs = await context
    .api()
    .datasets(context.signal)
    .then(({ entries }) => slugsOf(entries ?? []))
    // Without a catalog there is still the error.
    .catch(() => []);
  if (slugs.length === 0) return error;
  return new DomainsyncError(error.code, error.message, { cause: error, hint: hintFor(context, target, slugs) });
}

function hintFor({ nearest }: Pick<PipelineContext, 'nearest'>, target: Target, slugs: readonly string[]): string {
  const { dataset, slice } = target;
  if (slugs.includes(dataset)) {
    return slice === undefined
      ? `The catalog has the dataset '${dataset}', so its file is not published yet: try later.`
      : `The catalog has the dataset '${dataset}', but there is nothing for ${sourceKey(target)}: check scope and key; if they are right, it is not published yet.`;
  }
  const meant = nearest(dataset, slugs);
  const guess = meant === undefined ? '' : ` Did you mean '${meant}'?`;
  return `The catalog has no dataset '${dataset}'.${guess} It has: ${slugs.join(', ')}.`;
}
