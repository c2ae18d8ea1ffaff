/**
 * The JSON that endpoints respond with, checked as far as the specification shows it. The rest is read tolerantly: unknown
 * fields are kept, and missing fields stay missing.
 */
import { z } from 'zod';
import { type Entry, isRawNumber, type Listing } from '../../../src/types/index.ts';

const text = z.union([z.string(), z.number(), z.custom(isRawNumber)]).nullish();

/** GET /api/v1/me (docs/service.md, "Account"). */
export const meSchema = z.looseObject({
  user: z.looseObject({ id: text, email: text, role: text }).nullish(),
  apiKeyId: text,
  scopes: z.array(z.unknown()).nullish(),
});

/** An error in the body of a response with a status of success. */
const errorSchema = z.strictObject({ error: z.string() });

const entries = z.array(z.looseObject({}));

/** Usual names of lists. A list with one of these names goes before any other. */
const LIST_NAMES = ['datasets', 'orders', 'downloads', 'items', 'results', 'data', 'entries', 'rows'];
/** `{ "data": { "datasets": [...] } }` is as deep as envelopes go. */
const MAX_DEPTH = 2;

/** The message of a document that is nothing but `{ "error": ... }`; null: it is something else. */
export function errorIn(document: unknown): string | null {
  const parsed = errorSchema.safeParse(document);
  return parsed.success ? parsed.data.error : null;
}

/** The list in a document: the document itself, or a list of objects under some key. */
export function listingOf(document: unknown): Listing {
  return { document, entries: findList(document, 0) };
}

function findList(document: unknown, depth: number): readonly Entry[] | null {
  const list = entries.safeParse(document);
  if (list.success) return list.data;
  if (typeof document !== 'object' || document === null || Array.isArray(document) || depth >= MAX_DEPTH) return null;
  const fields = Object.entries(document).sort(([a], [b]) => rank(a) - rank(b));
  const arrays = fields.filter(([, value]) => Array.isArray(value));
  const lists = [...arrays, ...fields.filter(([, value]) => !Array.isArray(value))].flatMap(([, value]) => {
    const found = findList(value, depth + 1);
    return found === null ? [] : [found];
  });
  // An empty list of something else may stand before the wanted one.
  return lists.find((found) => found.length > 0) ?? lists[0] ?? null;
}

function rank(name: string): number {
  const at = LIST_NAMES.indexOf(name.toLowerCase());
  return at === -1 ? LIST_NAMES.length : at;
}
