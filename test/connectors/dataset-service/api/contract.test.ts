import { expect, test } from 'vitest';
import { compareContract } from '../../../../connectors/dataset-service/api/contract.ts';
import { openapiDocument } from '../../../../src/sandbox/server/openapi.ts';

type Path = readonly (string | number)[];

/** A document to be bent: places are named by the way to them. */
class Bent {
  readonly root: unknown = JSON.parse(JSON.stringify(openapiDocument()));

  get(...path: Path): unknown {
    return path.reduce<unknown>((inner, part) => (inner as Record<string | number, unknown>)[part], this.root);
  }

  /** Puts a value in place of what there is; undefined removes it. Gives what was there. */
  put(path: Path, value: unknown): unknown {
    const holder = this.get(...path.slice(0, -1)) as Record<string | number, unknown>;
    const last = path.at(-1) ?? '';
    const before = holder[last];
    if (value === undefined) delete holder[last];
    else holder[last] = value;
    return before;
  }

  /** Of the GET of a path. */
  operation(path: string, ...rest: Path): Path {
    return ['paths', path, 'get', ...rest];
  }
}

/** What is found in a bent document, as `severity where: what`. */
function found(bend: (document: Bent) => void): string[] | undefined {
  const document = new Bent();
  bend(document);
  return compareContract(document.root)?.map(({ severity, where, what }) => `${severity} ${where}: ${what}`);
}

const WHOLE = '/api/download/{slug}';
const SLICE = '/api/download/{slug}/{scope}/{key}';
const PREVIEW = '/api/v1/preview';
const ME = '/api/v1/me';

test('the contract of the specification agrees', () => {
  expect(found(() => {})).toEqual([]);
});

test.each<[string, (document: Bent) => void]>([
  [
    'parameters of paths have other names',
    (d) => d.put(['paths', '/api/download/{dataset}'], d.put(['paths', WHOLE], undefined)),
  ],
  [
    'the prefix is that of a server',
    (d) => {
      const paths = Object.entries(d.get('paths') as object);
      d.put(['paths'], Object.fromEntries(paths.map(([path, item]) => [path.replace('/api', ''), item])));
      d.put(['servers'], [{ url: 'https://service.example/api/' }]);
    },
  ],
  [
    'parameters and paths are references',
    (d) => {
      d.put(['components', 'parameters'], { 'a/b': d.get(...d.operation(PREVIEW, 'parameters', 0)) });
      d.put(d.operation(PREVIEW, 'parameters', 0), { $ref: '#/components/parameters/a~1b' });
      d.put(['components', 'pathItems'], { me: d.get('paths', ME) });
      d.put(['paths', ME], { $ref: '#/components/pathItems/me' });
    },
  ],
  [
    'scopes are written out as paths',
    (d) => {
      const item = d.put(['paths', SLICE], undefined);
      for (const scope of ['tld', 'tld_suffix', 'country', 'technology'])
        d.put(['paths', `${WHOLE}/${scope}/{${scope}}`], item);
    },
  ],
  [
    'security is said once for all',
    (d) => {
      d.put(['security'], [{ bearer: [] }]);
      d.put(d.operation(ME, 'security'), undefined);
    },
  ],
  [
    'the key is described as a header',
    (d) => d.put(['components', 'securitySchemes', 'bearer'], { type: 'apiKey', in: 'header', name: 'Authorization' }),
  ],
  ['statuses are ranges', (d) => d.put(d.operation(ME, 'responses'), { '2XX': {}, default: {} })],
])('it agrees as well where %s', (_what, bend) => {
  expect(found(bend)).toEqual([]);
});

test.each<[string, (document: Bent) => void, string[]]>([
  [
    'a path is gone',
    (d) => d.put(['paths', '/api/v1/me/orders'], undefined),
    ['missing GET /api/v1/me/orders: the path is not in the document'],
  ],
  ['a method is gone', (d) => d.put(['paths', ME], { post: {} }), ['missing GET /api/v1/me: the path has no GET']],
  [
    'a scope is gone, and there is a new one',
    (d) => d.put(d.operation(SLICE, 'parameters', 1, 'schema', 'enum'), ['tld', 'country', 'asn']),
    [
      `missing GET ${SLICE}: the parameter scope does not take 'tld_suffix'`,
      `missing GET ${SLICE}: the parameter scope does not take 'technology'`,
    ],
  ],
  [
    'the history is shorter',
    (d) => d.put(d.operation('/api/v1/me/downloads', 'parameters', 0, 'schema', 'maximum'), 100),
    ['missing GET /api/v1/me/downloads: the parameter limit is at most 100, and 500 may be asked for'],
  ],
  [
    'parameters are renamed, required, added',
    (d) =>
      d.put(d.operation(PREVIEW, 'parameters'), [
        { name: 'slug', in: 'query', required: true },
        { name: 'X-Tenant', in: 'header', required: true },
        { name: 'page', in: 'query' },
      ]),
    [
      'missing GET /api/v1/preview: the query has no parameter dataset',
      'missing GET /api/v1/preview: the query parameter slug is required, and domainsync does not send it',
      'missing GET /api/v1/preview: the header parameter X-Tenant is required, and domainsync does not send it',
      'more GET /api/v1/preview: the query parameter page',
    ],
  ],
  [
    'authentication is another',
    (d) => {
      d.put(['components', 'securitySchemes', 'login'], { type: 'http', scheme: 'basic' });
      d.put(d.operation(ME, 'security'), [{ login: [] }]);
      d.put(d.operation('/api/v1/datasets', 'security'), [{ bearer: [] }]);
      d.put(d.operation(PREVIEW, 'security'), []);
    },
    [
      'missing GET /api/v1/datasets: it is not public any more: it asks for a key',
      'missing GET /api/v1/me: it takes no bearer key, but login',
      'differs GET /api/v1/preview: it asks for no key',
    ],
  ],
  [
    'statuses are gone',
    (d) => {
      d.put(d.operation(WHOLE, 'responses', '206'), undefined);
      d.put(d.operation(WHOLE, 'responses', '416'), undefined);
    },
    [`missing GET ${WHOLE}: no response 206`, `differs GET ${WHOLE}: no response 416`],
  ],
  [
    'there is more, in another version',
    (d) => {
      d.put(['openapi'], '3.0.3');
      d.put(['paths', '/api/v2/datasets'], {});
    },
    [
      'differs openapi: OpenAPI 3.1 is expected, the document says 3.0.3',
      'more /api/v2/datasets: an endpoint that domainsync does not know',
    ],
  ],
])('it is told that %s', (_what, bend, differences) => {
  expect(found(bend)).toEqual(differences);
});

test.each(['#/components/pathItems/a', '#/components/nothing', 'https://elsewhere.example/x.json', '#/__proto__'])(
  'a reference that leads nowhere, or in a circle, is as if there was nothing: %s',
  (target) => {
    const differences = found((d) => {
      const circle = { a: { $ref: '#/components/pathItems/b' }, b: { $ref: '#/components/pathItems/a' } };
      d.put(['components', 'pathItems'], circle);
      d.put(['paths', ME], { $ref: target });
    });
    expect(differences).toEqual(['missing GET /api/v1/me: the path has no GET']);
  },
);

test('what is no OpenAPI document is none', () => {
  for (const document of [null, 'text', [], {}, { openapi: '3.1.0' }, { paths: [] }]) {
    expect(compareContract(document)).toBeNull();
  }
});
