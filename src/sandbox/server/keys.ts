/** The sandbox's API keys and their permissions (docs/service.md, "Authentication"). */

/** The key that the sandbox accepts by default. No secret: it gives access only to invented data on this machine. */
export const SANDBOX_KEY = 'sandbox_0123456789abcdef';

export interface SandboxKey {
  readonly key: string;
  /** How logs and rules name the key; never the key itself. */
  readonly id: string;
  /** Datasets that the key may download; default all. */
  readonly datasets?: readonly string[];
  /** Datasets with expired access: 403, as if they were not in `datasets`. */
  readonly expired?: readonly string[];
  /** Answers 401, as if the caller's address were not on the key's allow-list. */
  readonly ipBlocked?: boolean;
  /** Default `me:read` and `downloads:read`. The routes under /api/v1/me need `me:read`, else 403. */
  readonly scopes?: readonly string[];
}

export const DEFAULT_KEY: SandboxKey = { key: SANDBOX_KEY, id: 'key_default' };

export const DEFAULT_SCOPES: readonly string[] = ['me:read', 'downloads:read'];

/** The caller, by the Authorization header. */
export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'rejected'; readonly reason: string; readonly id: string | null }
  | { readonly kind: 'key'; readonly key: SandboxKey };

export function identify(keys: readonly SandboxKey[], authorization: string | undefined): Caller {
  if (authorization === undefined) return { kind: 'anonymous' };
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  const key = keys.find((candidate) => candidate.key === token);
  if (key === undefined) return { kind: 'rejected', reason: 'Invalid API key', id: null };
  if (key.ipBlocked === true) return { kind: 'rejected', reason: 'API key not allowed from this IP', id: key.id };
  return { kind: 'key', key };
}

/** The id for the log and for matching rules; null for a caller without a sandbox key. */
export function callerId(caller: Caller): string | null {
  if (caller.kind === 'key') return caller.key.id;
  return caller.kind === 'rejected' ? caller.id : null;
}

/** Whether a key has active access to a dataset. */
export function mayDownload(key: SandboxKey, dataset: string): boolean {
  return (key.datasets?.includes(dataset) ?? true) && !(key.expired?.includes(dataset) ?? false);
}
