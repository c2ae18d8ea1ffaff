/** Misbehaviour on request. Rules are plain JSON, checked strictly to catch misspellings. */
import { z } from 'zod';
import { DomainsyncError } from '../../common/errors.ts';
import { ROUTE_NAMES, type RouteName } from './limits.ts';

const bytes = z.number().int().min(0);

const faultSchema = z.discriminatedUnion('kind', [
  /** Destroys the socket without an answer. */
  z.strictObject({ kind: z.literal('drop') }),
  /** Destroys the socket after this many bytes of the body. `reset` sends a TCP reset instead of an end. */
  z.strictObject({ kind: z.literal('cut'), afterBytes: bytes, reset: z.boolean().optional() }),
  /** Sends nothing more after this many bytes of the body; the connection stays open. */
  z.strictObject({ kind: z.literal('stall'), afterBytes: bytes }),
  z.strictObject({ kind: z.literal('slow'), bytesPerSecond: z.number().int().min(1) }),
  /** Flips all bits of one byte. The offset is in the file, so ranges show it too. */
  z.strictObject({ kind: z.literal('corrupt'), atByte: bytes }),
  /** 200 with the whole file, whatever the requested range. */
  z.strictObject({ kind: z.literal('ignore-range') }),
  /** 206 that starts this many bytes later (negative: earlier) than requested, and says so. */
  z.strictObject({ kind: z.literal('wrong-offset'), shift: z.number().int() }),
  /** Another total in Content-Range. */
  z.strictObject({ kind: z.literal('wrong-total'), total: z.union([bytes, z.literal('*')]) }),
  /** Another entity tag, sent as given (with its quotes); null: none. */
  z.strictObject({ kind: z.literal('etag'), value: z.string().nullable() }),
  z.strictObject({ kind: z.literal('last-modified'), value: z.string().nullable() }),
  z.strictObject({ kind: z.literal('disposition'), value: z.string().nullable() }),
  /** Without Content-Length, in chunks. */
  z.strictObject({ kind: z.literal('chunked') }),
  /** Another status, with a JSON error. `retryAfter` is sent as given: seconds or a date. */
  z.strictObject({
    kind: z.literal('status'),
    status: z.number().int().min(400).max(599),
    retryAfter: z.string().optional(),
  }),
  /** 200 with an HTML page, as a proxy might send. */
  z.strictObject({ kind: z.literal('html') }),
  /** 200 with a JSON error. */
  z.strictObject({ kind: z.literal('json-error'), message: z.string().optional() }),
  z.strictObject({
    kind: z.literal('redirect'),
    status: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]),
    location: z.string(),
  }),
  /**
   * After this many bytes of the body the service has another file: a `revision` (other content, same date) or the next
   * `snapshot`. This response continues with the old file's bytes, unless `cut` ends it there.
   */
  z.strictObject({
    kind: z.literal('replace'),
    afterBytes: bytes,
    by: z.enum(['revision', 'snapshot']),
    cut: z.boolean().optional(),
  }),
  /** The file ends after this many bytes, and all headers agree. */
  z.strictObject({ kind: z.literal('truncate'), bytes }),
  /** Milliseconds before anything is sent. */
  z.strictObject({ kind: z.literal('delay'), ms: bytes }),
]);

const ruleSchema = z.strictObject({
  fault: faultSchema,
  route: z.enum(ROUTE_NAMES).optional(),
  /** Start of the path. */
  path: z.string().optional(),
  /** Id of the key. */
  key: z.string().optional(),
  /** Only requests with a Range header, or only those without. */
  ranged: z.boolean().optional(),
  /** Only requests for just the first byte (how a client finds the newest file), or only the others. */
  probe: z.boolean().optional(),
  /** First leaves this many matching requests alone. */
  skip: z.number().int().min(0).optional(),
  /** The rule ends after this many requests; default never. */
  times: z.number().int().min(1).optional(),
});

export type Fault = z.infer<typeof faultSchema>;
export type FaultRule = z.infer<typeof ruleSchema>;

interface FaultSubject {
  readonly route: RouteName;
  readonly path: string;
  readonly key: string | null;
  /** The Range header. */
  readonly range: string | null;
}

/** The active rules. All rules that match a request apply together; of several of one kind, the earliest applies. */
export class FaultBook {
  private rules: { readonly rule: FaultRule; skip: number; left: number }[] = [];

  /** @throws USAGE for an unknown rule */
  add(rule: unknown): void {
    const parsed = ruleSchema.safeParse(rule);
    if (!parsed.success) {
      throw new DomainsyncError('USAGE', `not a rule of misbehaviour: ${z.prettifyError(parsed.error)}`);
    }
    this.rules.push({ rule: parsed.data, skip: parsed.data.skip ?? 0, left: parsed.data.times ?? Infinity });
  }

  clear(): void {
    this.rules = [];
  }

  /** The faults for a request; counts it against the rules. */
  take(subject: FaultSubject): readonly Fault[] {
    const faults: Fault[] = [];
    for (const entry of this.rules) {
      if (!matches(entry.rule, subject)) continue;
      if (entry.skip > 0) entry.skip -= 1;
      else {
        entry.left -= 1;
        faults.push(entry.rule.fault);
      }
    }
    this.rules = this.rules.filter(({ left }) => left > 0);
    return faults;
  }
}

function matches(rule: FaultRule, subject: FaultSubject): boolean {
  return (
    (rule.route === undefined || rule.route === subject.route) &&
    (rule.path === undefined || subject.path.startsWith(rule.path)) &&
    (rule.key === undefined || rule.key === subject.key) &&
    (rule.ranged === undefined || rule.ranged === (subject.range !== null)) &&
    (rule.probe === undefined || rule.probe === (subject.range === 'bytes=0-0'))
  );
}

/** The fault of one kind among those of a request. */
export function faultOf<K extends Fault['kind']>(
  faults: readonly Fault[],
  kind: K,
): Extract<Fault, { kind: K }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);
}
