/** What of a valid configuration this version cannot run yet. An entry goes when its part is built. */
import type { Config, Pipeline } from './schema.ts';

interface Missing {
  readonly what: string;
  readonly used: (pipeline: Pipeline, config: Config) => boolean;
}

const MISSING: readonly Missing[] = [];

/** Why this version cannot run the pipeline, in words for the user (the message of NOT_BUILT); null: it can. */
export function notBuilt(pipeline: Pipeline, config: Config): string | null {
  const missing = MISSING.filter(({ used }) => used(pipeline, config)).map(({ what }) => what);
  return missing.length === 0
    ? null
    : `pipeline '${pipeline.name}' is valid, but this version cannot run yet: ${missing.join('; ')}`;
}
