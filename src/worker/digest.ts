/** Distinguishes values without revealing them. */
import { createHash } from 'node:crypto';

/** Equal for equal JSON. Not reversible. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}
