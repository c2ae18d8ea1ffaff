/** One run of the fuzz test: blocks of random lines until there are enough, or one differs. */
import { Random } from '../../src/sandbox/data/random.ts';
import type { Where } from '../../src/types/index.ts';
import { compare } from './compare.ts';
import { randomLine } from './lines.ts';

const MOST_LINES_IN_A_BLOCK = 40;

const SELECTIONS: readonly (string[] | undefined)[] = [
  undefined,
  undefined,
  undefined,
  ['country', 'dns_records', 'unparsed'],
  ['registration_record', 'technologies', 'created_at'],
  [],
];

const WHERES: readonly Where[] = [
  ...Array.from({ length: 8 }, () => []),
  [{ column: 'country', values: ['DE', 'us', ''] }],
  [{ column: 'technologies', values: ['php', 'Nginx', 'GOOGLE'] }],
  [
    { column: 'dns_records', values: ['mx', 'a'] },
    { column: 'http_status', values: ['200', ''] },
  ],
  [{ column: 'created_at', values: ['', '2024-01-31T00:00:00.000Z'] }],
  [{ column: 'domain', values: ['example.com', 'äö.de'] }],
  [{ column: 'pr_value', values: ['0', '1000', ''] }],
  [{ column: 'registration_record', values: ['', '{"a":1}'] }],
  [{ column: 'social_networks', values: ['é', 'github'] }],
  [{ column: 'dns_status', values: ['true', ''] }],
];

/**
 * @returns the share of usable lines that the scanner took
 * @throws Error that tells where it differs, so that the block can be made again
 */
export function fuzz(seed: number, lines: number, progress: (lines: number) => void = () => {}): number {
  let done = 0;
  let usable = 0;
  let scanned = 0;
  for (let block = 0; done < lines; block++) {
    const random = new Random(seed + block * 7919);
    const count = 1 + random.below(MOST_LINES_IN_A_BLOCK);
    const parts: Buffer[] = [];
    for (let line = 0; line < count; line++) {
      parts.push(
        randomLine(random),
        Buffer.from(line === count - 1 ? random.pick(['\n', '', '\r']) : random.pick(['\n', '\n', '\n', '\r\n'])),
      );
    }
    const bytes = new Uint8Array(Buffer.concat(parts));
    const { fault, usable: ofBlock, scanned: byScanner } = compare(bytes, random.pick(SELECTIONS), random.pick(WHERES));
    if (fault !== undefined)
      throw new Error(`seed ${seed}, block ${block}: ${fault}\n${Buffer.from(bytes).toString()}`);
    done += count;
    usable += ofBlock;
    scanned += byScanner;
    progress(done);
  }
  return scanned / usable;
}
