/** Whether the key is valid, and whose it is. */
import { asDomainsyncError, type DomainsyncError } from '../../common/errors.ts';
import type { Entry } from '../../types/index.ts';
import type { App } from '../app.ts';
import { errorDocument } from '../output.ts';

export interface KeyReport {
  /** `unread`: valid, but not allowed to read the account. `unknown`: the service does not say. */
  readonly state: 'good' | 'unread' | 'rejected' | 'unknown';
  /** Null if the service does not say. */
  readonly email: string | null;
  readonly role: string | null;
  readonly id: string | null;
  readonly scopes: readonly string[];
  readonly error: DomainsyncError | null;
}

/** Asks the service. Throws nothing: a key that may not read the account may still download. */
export async function checkKey(app: App): Promise<KeyReport> {
  try {
    const me = await app.api().me(app.signal);
    const user = typeof me['user'] === 'object' && me['user'] !== null ? (me['user'] as Entry) : {};
    const scopes = Array.isArray(me['scopes']) ? me['scopes'].filter((scope) => typeof scope === 'string') : [];
    const [email, role, id] = [textOf(user['email']), textOf(user['role']), textOf(me['apiKeyId'])];
    return { state: 'good', email, role, id, scopes, error: null };
  } catch (thrown) {
    const error = asDomainsyncError(thrown);
    const rejected = error.code === 'SOURCE_KEY_REJECTED' || error.code === 'SOURCE_IP_BLOCKED';
    // 403 means that the service accepted the key itself (docs/service.md, "Errors").
    const state = rejected ? 'rejected' : error.code === 'SOURCE_NO_ACCESS' ? 'unread' : 'unknown';
    return { state, email: null, role: null, id: null, scopes: [], error };
  }
}

/** One line for a person. */
export function keyText({ state, email, role, id, scopes, error }: KeyReport): string {
  if (state === 'unread') {
    return 'good; whose it is cannot be told, since it lacks the scope me:read, which a sync does without';
  }
  if (error !== null) return `${state === 'rejected' ? 'not taken' : 'not known'}: ${error.code}: ${error.message}`;
  const owner = email === null ? 'the service does not say whose' : `${email}${role === null ? '' : ` (${role})`}`;
  const details = [id === null ? '' : `key ${id}`, scopes.length === 0 ? '' : `scopes ${scopes.join(', ')}`];
  return ['good', [owner, ...details.filter((text) => text !== '')].join(', ')].join(': ');
}

export function keyDocument({ error, ...facts }: KeyReport, redact: (text: string) => string): unknown {
  return { ...facts, ...(error === null ? {} : errorDocument(error, redact)) };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
