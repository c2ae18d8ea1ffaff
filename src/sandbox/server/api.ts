/** The JSON endpoints (docs/service.md, "Endpoints"). This module chooses the shapes that the specification does not show. */

import { generateRows, hasScope, lineOf } from '../data/generate.ts';
import { DATASET_SLUGS, DATASETS, isDatasetSlug } from '../datasets.ts';
import type { Call, Context } from './context.ts';
import { type Caller, DEFAULT_SCOPES, mayDownload, type SandboxKey } from './keys.ts';
import { openapiDocument } from './openapi.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';

/** Rows of the free samples (docs/service.md, "Limits"). */
const PREVIEW_ROWS = 10_000;
const SAMPLE_ROWS = 20;
/** Most download history entries in one answer. A higher limit is accepted but capped (not specified). */
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 50;

/** Answers every route except downloads. */
export function answerApi(context: Context, call: Call, caller: Caller): Reply {
  switch (call.route.name) {
    case 'datasets':
      return jsonReply(200, { datasets: catalog(context) });
    case 'openapi':
      return jsonReply(200, openapiDocument());
    case 'unknown':
      return errorReply(404, 'Not found');
    default:
      return withKey(caller, (key) => answerWithKey(context, call, key));
  }
}

/** Answers 401 unless the caller has a valid key. */
export function withKey<R>(caller: Caller, answer: (key: SandboxKey) => R): R | Reply {
  if (caller.kind === 'key') return answer(caller.key);
  return errorReply(401, caller.kind === 'anonymous' ? 'API key required' : caller.reason);
}

function answerWithKey(context: Context, call: Call, key: SandboxKey): Reply {
  const name = call.route.name;
  if (name === 'preview' || name === 'sample') return rows(context, call);
  const scopes = key.scopes ?? DEFAULT_SCOPES;
  if (!scopes.includes('me:read')) return errorReply(403, 'API key lacks the scope me:read');
  if (name === 'me') {
    const user = { id: 'user_sandbox', email: 'customer@sandbox.example', role: 'customer' };
    return jsonReply(200, { user, apiKeyId: key.id, scopes });
  }
  return name === 'orders' ? jsonReply(200, { orders: orders(context, key) }) : downloads(context, call, key);
}

function catalog({ store }: Context): unknown[] {
  const counts = store.rowCounts();
  return DATASET_SLUGS.map((slug) => {
    const { name, price, columns } = DATASETS[slug];
    const date = store.isPublished(slug) ? store.date : null;
    return { slug, name, price: { amount: price, currency: 'USD' }, rowCount: counts[slug], date, columns };
  });
}

function rows({ store }: Context, { route }: Call): Reply {
  const dataset = route.target?.dataset ?? '';
  const slice = route.target?.slice;
  if (!isDatasetSlug(dataset) || !store.isPublished(dataset)) return errorReply(404, 'Unknown dataset');
  if (slice !== undefined && !(hasScope(dataset, slice.scope) && store.isWritten({ dataset, slice })))
    return errorReply(404, 'Unknown entity');
  const limit = slice === undefined ? PREVIEW_ROWS : SAMPLE_ROWS;
  const { world, snapshot } = store;
  const lines = Array.from(generateRows({ world, snapshot, dataset, limit, ...(slice && { slice }) }), lineOf);
  if (slice !== undefined && lines.length === 0) return errorReply(404, 'Unknown entity');
  const json = jsonReply(200, {});
  return { ...json, body: Buffer.from(`{"dataset":"${dataset}","rows":[${lines.join(',')}]}`) };
}

function orders({ store }: Context, key: SandboxKey): unknown[] {
  return DATASET_SLUGS.filter((slug) => mayDownload(key, slug) || key.expired?.includes(slug) === true).map((slug) => ({
    id: `order_${slug}`,
    dataset: slug,
    status: mayDownload(key, slug) ? 'paid' : 'expired',
    createdAt: `${store.firstDate}T08:00:00.000Z`,
  }));
}

function downloads(context: Context, call: Call, key: SandboxKey): Reply {
  const asked = call.url.searchParams.get('limit');
  const limit = asked === null ? DEFAULT_LIMIT : Number(asked);
  if (!Number.isInteger(limit) || limit < 1) return errorReply(400, 'limit must be an integer from 1 to 500');
  const history = context.downloads.get(key.id) ?? [];
  return jsonReply(200, { downloads: history.slice(-Math.min(limit, MAX_LIMIT)).reverse() });
}
