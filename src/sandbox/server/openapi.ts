/** The sandbox's contract as OpenAPI 3.1 (docs/service.md, "Purpose" and "Endpoints"). */
import { DATASET_SLUGS } from '../datasets.ts';

type Json = Readonly<Record<string, unknown>>;

const ERROR_TEXTS: Readonly<Record<string, string>> = {
  '302': 'No browser session on a download route (API keys get 401 instead)',
  '400': 'Invalid parameter',
  '401': 'API key missing, invalid, or blocked by IP',
  '403': 'No active paid access to the dataset, or a missing scope',
  '404': 'Unknown dataset or entity, or the file is not yet published',
  '416': 'Range request malformed, multipart or not satisfiable',
  '429': 'Rate limit exceeded; wait and retry',
};

const SLUG = { type: 'string', examples: DATASET_SLUGS };
const parameter = (
  name: string,
  where: 'path' | 'query' | 'header',
  schema: Json,
  required = where === 'path',
): Json => ({
  name,
  in: where,
  required,
  schema,
});
const SCOPE = parameter('scope', 'path', { type: 'string', enum: ['tld', 'tld_suffix', 'country', 'technology'] });
const KEY = parameter('key', 'path', { type: 'string' });
const DATASET = parameter('dataset', 'query', SLUG, true);
const RANGE = parameter('Range', 'header', { type: 'string', pattern: '^bytes=(\\d+-\\d*|-\\d+)$' });
const IF_RANGE = parameter('If-Range', 'header', { type: 'string' });

const list = (name: string, item: Json): Json => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'array', items: item } },
});
const record = (properties: Json): Json => ({ type: 'object', required: Object.keys(properties), properties });
const TEXT = { type: 'string' };
const TEXT_OR_NULL = { type: ['string', 'null'] };

function errors(...statuses: string[]): Json {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: ERROR_TEXTS[status],
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

function jsonOperation(summary: string, schema: Json, parameters: readonly Json[], failures: Json, open = false): Json {
  return {
    get: {
      summary,
      security: open ? [] : [{ bearer: [] }],
      parameters,
      responses: { '200': { description: 'Success', content: { 'application/json': { schema } } }, ...failures },
    },
  };
}

function downloadOperation(summary: string, parameters: readonly Json[]): Json {
  const content = { 'application/zstd': { schema: { type: 'string', format: 'binary' } } };
  const header = { schema: TEXT };
  const headers = {
    ETag: header,
    'Last-Modified': header,
    'Accept-Ranges': header,
    'Content-Length': { schema: { type: 'integer' } },
    'Content-Disposition': header,
  };
  return {
    get: {
      summary,
      security: [{ bearer: [] }],
      parameters: [...parameters, RANGE, IF_RANGE],
      responses: {
        '200': { description: 'The whole file', headers, content },
        '206': { description: 'A part of the file', headers: { ...headers, 'Content-Range': header }, content },
        ...errors('302', '401', '403', '404', '416', '429'),
      },
    },
  };
}

const ROW = { type: 'object', required: ['Domain'], properties: { Domain: TEXT }, additionalProperties: true };
const ROWS = record({ dataset: SLUG, rows: { type: 'array', items: ROW } });
const CATALOG_ENTRY = record({
  slug: SLUG,
  name: TEXT,
  price: record({ amount: { type: 'number' }, currency: TEXT }),
  rowCount: { type: 'integer' },
  date: TEXT_OR_NULL,
  columns: { type: 'array', items: TEXT },
});
const ME = record({
  user: record({ id: TEXT, email: TEXT, role: TEXT }),
  apiKeyId: TEXT,
  scopes: { type: 'array', items: TEXT },
});
const ORDER = record({
  id: TEXT,
  dataset: SLUG,
  status: { type: 'string', enum: ['paid', 'expired'] },
  createdAt: TEXT,
});
const DOWNLOAD = record({
  id: TEXT,
  dataset: SLUG,
  scope: TEXT_OR_NULL,
  key: TEXT_OR_NULL,
  file: TEXT,
  downloadedAt: TEXT,
});

/** The document of GET /api/v1/openapi.json. */
export function openapiDocument(): Json {
  const slug = parameter('slug', 'path', SLUG);
  const limit = parameter('limit', 'query', { type: 'integer', minimum: 1, maximum: 500, default: 50 });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Domain Dataset Download Service (sandbox)',
      version: '1.0.0',
      description: 'A stand-in with generated data. Every response carries X-RateLimit-Limit, -Remaining and -Reset.',
    },
    paths: {
      '/api/v1/datasets': jsonOperation('Published datasets', list('datasets', CATALOG_ENTRY), [], errors('429'), true),
      '/api/v1/preview': jsonOperation('10,000 rows of a dataset', ROWS, [DATASET], errors('401', '404', '429')),
      '/api/v1/sample/{scope}/{key}': jsonOperation(
        '20 rows of an entity',
        ROWS,
        [SCOPE, KEY, DATASET],
        errors('401', '404', '429'),
      ),
      '/api/v1/me': jsonOperation('Current user and key', ME, [], errors('401', '403', '429')),
      '/api/v1/me/orders': jsonOperation('Orders', list('orders', ORDER), [], errors('401', '403', '429')),
      '/api/v1/me/downloads': jsonOperation(
        'Download history, newest first',
        list('downloads', DOWNLOAD),
        [limit],
        errors('400', '401', '403', '429'),
      ),
      '/api/download/{slug}': downloadOperation('A dataset', [slug]),
      '/api/download/{slug}/{scope}/{key}': downloadOperation('A slice of a dataset', [slug, SCOPE, KEY]),
      '/api/v1/openapi.json': jsonOperation('This document', { type: 'object' }, [], errors('429'), true),
    },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: record({ error: TEXT }) },
    },
  };
}
