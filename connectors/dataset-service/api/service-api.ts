/** The catalog, the account, free samples and the contract: every endpoint of the service but the downloads. */
import type { z } from 'zod';
import { asDomainsyncError, type DomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import {
  type Entry,
  type Listing,
  parseExactly,
  type ServiceApi,
  type ServiceRoute,
} from '../../../src/types/index.ts';
import type { Client } from '../http/client.ts';
import { type Received, watched } from '../http/watched-body.ts';
import type { Log } from '../log.ts';
import { compareContract } from './contract.ts';
import { RELIED } from './expected-endpoints.ts';
import { inEachForm } from './key-case.ts';
import { errorIn, listingOf, meSchema } from './response-schemas.ts';
import { historyPath, samplePath, sampleRoute } from './routes.ts';

/** A catalog, a history of 500 entries or an OpenAPI document is far smaller. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** 10,000 rows (service-spec 8) of 25 kB each. */
const MAX_SAMPLE_BYTES = 256 * 1024 * 1024;
const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)/iu;

export interface EndpointOptions {
  readonly client: Client;
  readonly log: Log;
  readonly retryPolicy: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up. */
  readonly stallMs: number;
}

export function createServiceApi(options: EndpointOptions): ServiceApi {
  const list = async (route: ServiceRoute, path: string, signal: AbortSignal): Promise<Listing> =>
    listingOf(await fetchJson(options, route, path, signal));
  return {
    datasets: (signal) => list('datasets', '/api/v1/datasets', signal),
    orders: (signal) => list('orders', '/api/v1/me/orders', signal),
    downloads: (limit, signal) => list('downloads', historyPath(limit), signal),
    me: async (signal) =>
      checked(options, meSchema, '/api/v1/me', await fetchJson(options, 'me', '/api/v1/me', signal)),
    sample: (target, signal) => {
      const route = sampleRoute(target);
      return inEachForm(options.client, target, route, (asked) =>
        fetchBytes(options, route, samplePath(asked), MAX_SAMPLE_BYTES, signal),
      );
    },
    contract: async (signal) => {
      const document = await fetchJson(options, 'openapi', '/api/v1/openapi.json', signal);
      const differences = compareContract(document);
      if (differences !== null) return { document, differences, endpoints: RELIED.length };
      const message = '/api/v1/openapi.json is no OpenAPI document: it has no paths';
      throw options.client.error('SOURCE_UNEXPECTED', message);
    },
  };
}

function checked<T extends z.ZodType<Entry>>(
  { client }: EndpointOptions,
  schema: T,
  path: string,
  document: unknown,
): z.output<T> {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the document'}: ${issue.message}`);
  throw client.error('SOURCE_UNEXPECTED', `${path} answered what is not specified: ${faults.join('; ')}`);
}

async function fetchJson(
  options: EndpointOptions,
  route: ServiceRoute,
  path: string,
  signal: AbortSignal,
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

/** The whole body of an answer, tried again where the network or the service fails. */
async function fetchBytes(
  { client, log, retryPolicy, stallMs }: EndpointOptions,
  route: ServiceRoute,
  path: string,
  most: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const attempt = async (): Promise<Buffer> => {
    const answer = await client.get(path, { accept: [200], route, signal });
    try {
      const type = answer.header('content-type');
      if (type !== null && HTML.test(type)) {
        throw client.error('SOURCE_UNEXPECTED', `${path} sent a page (${client.quote(type)}) where data was expected`);
      }
      return await wholeBody(watched(answer.body, stallMs), most, () =>
        client.error('SOURCE_UNEXPECTED', `${path} sent more than ${most} bytes`),
      );
    } catch (error) {
      throw client.networkError(`the answer of ${path} broke off`, error, signal);
    } finally {
      answer.body.destroy();
    }
  };
  const onRetry = (error: DomainsyncError, failures: number, delay: number): void =>
    log.warn({ code: error.code, failures, delay }, error.message);
  try {
    return await withRetry(attempt, { policy: retryPolicy, signal, onRetry });
  } catch (error) {
    // A wait between two tries ends with an AbortError.
    throw asDomainsyncError(error);
  }
}

async function wholeBody(body: AsyncIterable<Received>, most: number, tooLong: () => DomainsyncError): Promise<Buffer> {
  const parts: Buffer[] = [];
  let received = 0;
  for await (const { chunks, length } of body) {
    received += length;
    if (received > most) throw tooLong();
    parts.push(...chunks);
  }
  return Buffer.concat(parts);
}
