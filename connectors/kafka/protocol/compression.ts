/** The codecs of record batches, by the numbers that Kafka gives them (KIP-110 for zstd). Synchronous: for worker threads. */
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { DomainsyncError } from '../../../src/common/errors.ts';

export type Compression = 'zstd' | 'gzip' | 'none';

/** The low three bits of a batch's attributes. */
export const CODEC_MASK = 0x07;
const CODECS = { none: 0, gzip: 1, zstd: 4 } as const;

/**
 * A batch of the usual size is compressed into one buffer. The default are pieces of 16 KiB, which only the garbage collector
 * frees.
 */
const CHUNK_BYTES = 1024 * 1024;

/** Compresses bytes, unless that makes them no smaller: so a batch is never larger than its records. */
export function compress(compression: Compression, bytes: Buffer): { readonly codec: number; readonly bytes: Buffer } {
  if (compression === 'none') return { codec: CODECS.none, bytes };
  const smaller =
    compression === 'zstd'
      ? zstdCompressSync(bytes, { chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_c_compressionLevel]: 1 } })
      : gzipSync(bytes, { chunkSize: CHUNK_BYTES, level: 1 });
  return smaller.length < bytes.length ? { codec: CODECS[compression], bytes: smaller } : { codec: CODECS.none, bytes };
}

/** Frees a buffer that `compress` made. Left to the garbage collector, 50 MB of them pile up [measured]. */
export function release({ buffer }: Buffer): void {
  // A smaller buffer may be part of Node's pool.
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= CHUNK_BYTES) buffer.transfer(0);
}

/** @throws DESTINATION_REFUSED for a codec that domainsync never writes with */
export function decompress(codec: number, bytes: Buffer): Buffer {
  switch (codec) {
    case CODECS.none:
      return bytes;
    case CODECS.gzip:
      return gunzipSync(bytes);
    case CODECS.zstd:
      return zstdDecompressSync(bytes);
    default:
      throw new DomainsyncError(
        'DESTINATION_REFUSED',
        `the topic holds messages compressed with codec ${codec}, which domainsync does not know`,
        { hint: 'Set compression.type of the topic to producer, zstd or gzip, and let domainsync alone write to it.' },
      );
  }
}
