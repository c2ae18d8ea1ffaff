/**
 * Room `api/`: the catalog, the account, free samples and the contract, which is every endpoint but the downloads. Each is one
 * request with a whole body, retried. The paths of all endpoints are here too (paths.ts).
 */
import type { z } from 'zod';
import type { DomainsyncError } from '../../../src/common/errors.ts';
import type { RetryPolicy } from '../../../src/common/retry.ts';
import { type Listing, type Log, parseExactly, type ServiceApi, type ServiceRoute } from '../../../src/types/index.ts';
import { ENDPOINTS } from '../endpoints.ts';
import type { Client } from '../http/client.ts';
import { isHtml } from '../http/content.ts';
import { retried } from '../http/retried.ts';
import { type Received, watched } from '../http/watched-body.ts';
import { compareContract } from './contract.ts';
import { inEitherCase } from './key-case.ts';
import { historyPath, samplePath, sampleRoute } from './paths.ts';
import { errorIn, listingOf, meSchema } from './response-schemas.ts';

/** A catalog, a history of 500 entries or an OpenAPI document is far smaller. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** 10,000 rows (service-spec 8) of 25 kB each. */
const MAX_SAMPLE_BYTES = 256 * 1024 * 1024;

interface ServiceApiOptions {
  readonly client: Client;
  readonly log: Log;
  readonly retryPolicy: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up. */
  readonly stallMs: number;
}

export function createServiceApi(options: ServiceApiOptions): ServiceApi {
  const list = async (route: ServiceRoute, signal: AbortSignal, path?: string): Promise<Listing> =>
    listingOf(await fetchJson(options, route, signal, path));
  return {
    datasets: (signal) => list('datasets', signal),
    orders: (signal) => list('orders', signal),
    downloads: (limit, signal) => list('downloads', signal, historyPath(limit)),
    me: async (signal) => checked(options, meSchema, ENDPOINTS.me.path, await fetchJson(options, 'me', signal)),
    sample: (target, signal) => {
      const route = sampleRoute(target);
      return inEitherCase(options.client, target, route, (asked) =>
        fetchBytes(options, route, samplePath(asked), MAX_SAMPLE_BYTES, signal),
      );
    },
    contract: async (signal) => {
      const document = await fetchJson(options, 'openapi', signal);
      const differences = compareContract(document);
      if (differences !== null) return { document, differences, endpoints: Object.keys(ENDPOINTS).length };
      const message = `${ENDPOINTS.openapi.path} is no OpenAPI document: it has no paths`;
      throw options.client.error('SOURCE_UNEXPECTED', message);
    },
  };
}

function checked<T>({ client }: ServiceApiOptions, schema: z.ZodType<T>, path: string, document: unknown): T {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the document'}: ${issue.message}`);
  throw client.error('SOURCE_UNEXPECTED', `${path} answered what is not specified: ${faults.join('; ')}`);
}

async function fetchJson(
  options: ServiceApiOptions,
  route: ServiceRoute,
  signal: AbortSignal,
  path: string = ENDPOINTS[route].path,
): Promise<unknown> {
  const { client } = options;
  const body = (await fetchBytes(options, route, path, MAX_JSON_BYTES, signal))
    .toString('utf8')
    .replace(/^\ufeff/u, '');
  let document: unknown;
  try {
    document = parseExactly(body);
  } catch (cause) {
    throw client.error('SOURCE_UNEXPECTED', `${path} sent no JSON: ${client.quote(body)}`, { cause });
  }
  const error = errorIn(document);
  if (error === null) return document;
  throw client.error('SOURCE_UNEXPECTED', `${path} answered 200, but with an error: ${client.quote(error)}`);
}

/** The whole body of a response. Failures of the network and the service are retried. */
async function fetchBytes(
  options: ServiceApiOptions,
  route: ServiceRoute,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const { client, stallMs } = options;
  const attempt = async (): Promise<Buffer> => {
    const answer = await client.get(path, { accept: ENDPOINTS[route].succeeds, route, signal });
    try {
      const type = answer.header('content-type');
      if (isHtml(type)) {
        const what = `${path} sent a page (${client.quote(type ?? '')}) where data was expected`;
        throw client.error('SOURCE_UNEXPECTED', what);
      }
      return await wholeBody(watched(answer.body, stallMs), maxBytes, () =>
        client.error('SOURCE_UNEXPECTED', `${path} sent more than ${maxBytes} bytes`),
      );
    } catch (error) {
      throw client.networkError(`the answer of ${path} broke off`, error, signal);
    } finally {
      answer.body.destroy();
    }
  };
  return retried(attempt, options, signal);
}

async function wholeBody(
  body: AsyncIterable<Received>,
  maxBytes: number,
  tooLong: () => DomainsyncError,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let received = 0;
  for await (const { chunks, length } of body) {
    received += length;
    if (received > maxBytes) throw tooLong();
    parts.push(...chunks);
  }
  return Buffer.concat(parts);
}
