/** Compares the service's OpenAPI document with the table of endpoints. Pure. */
import type { ContractDifference } from '../../../src/types/index.ts';
import { ENDPOINTS, type Endpoint, type EndpointParameter } from '../endpoints.ts';
import { type Json, type Operation, type Parameter, type PathItem, readContract, type Scheme } from './openapi.ts';

type Severity = ContractDifference['severity'];
const WORST_FIRST: readonly Severity[] = ['missing', 'differs', 'more'];

/** The differences, the worst first; null: this is no OpenAPI document. */
export function compareContract(document: unknown): readonly ContractDifference[] | null {
  const contract = readContract(document);
  if (contract === null) return null;
  const found: ContractDifference[] = [];
  const { version, items } = contract;
  if (version === null || !/^3\.1(\.|$)/u.test(version)) {
    const what = `OpenAPI 3.1 is expected, the document says ${version ?? 'nothing'}`;
    found.push({ severity: 'differs', where: 'openapi', what });
  }
  const known = new Set<PathItem>();
  for (const expected of Object.values(ENDPOINTS)) {
    const matching = items.flatMap((item) => {
      const path = item.paths.find((own) => matches(own, expected));
      if (path !== undefined) known.add(item);
      return path === undefined ? [] : [{ path, get: item.get }];
    });
    found.push(...compareEndpoint(expected, matching));
  }
  for (const { paths } of items.filter((item) => !known.has(item))) {
    found.push({ severity: 'more', where: paths[0], what: 'an endpoint that domainsync does not know' });
  }
  return found.sort((a, b) => WORST_FIRST.indexOf(a.severity) - WORST_FIRST.indexOf(b.severity));
}

/** Whether a path is the expected one, whatever the names of its parameters. A value may be written out, such as a scope. */
function matches(path: string, { path: expected, parameters }: Endpoint): boolean {
  const parts = path.split('/');
  const wanted = expected.split('/');
  if (parts.length !== wanted.length) return false;
  return wanted.every((part, at) => {
    const own = parts[at] ?? '';
    if (!part.startsWith('{')) return own === part;
    const parameter = parameters.find(({ name }) => part === `{${name}}`);
    return /^\{[^}]*\}$/u.test(own) || parameter?.values?.includes(own) === true;
  });
}

interface Match {
  readonly path: string;
  readonly get: Operation | null;
}

function compareEndpoint(expected: Endpoint, matching: readonly Match[]): ContractDifference[] {
  const where = `GET ${expected.path}`;
  if (matching.length === 0) return [{ severity: 'missing', where, what: 'the path is not in the document' }];
  const operations = matching.flatMap(({ path, get }) => (get === null ? [] : [{ path, operation: get }]));
  const [first] = operations;
  if (first === undefined) return [{ severity: 'missing', where, what: 'the path has no GET' }];
  const difference =
    (severity: Severity) =>
    (what: string): ContractDifference => ({ severity, where, what });
  const found: ContractDifference[] = [];
  for (const parameter of expected.parameters) {
    const faults =
      parameter.in === 'path'
        ? missingValues(parameter, expected, operations)
        : queryFaults(parameter, first.operation.parameters);
    found.push(...faults.map(difference('missing')));
  }
  found.push(...unknownParameters(expected, first.operation).map(([severity, what]) => difference(severity)(what)));
  found.push(...authFaults(expected, first.operation).map(([severity, what]) => difference(severity)(what)));
  const { statuses } = first.operation;
  const hasNone = (status: number): boolean =>
    !statuses.some(
      (own) => own === `${status}` || own.toUpperCase() === `${Math.floor(status / 100)}XX` || own === 'default',
    );
  const absent = (severity: Severity, wanted: readonly number[]): ContractDifference[] =>
    wanted.filter(hasNone).map((status) => difference(severity)(`no response ${status}`));
  return [...found, ...absent('missing', expected.succeeds), ...absent('differs', expected.fails)];
}

/** Values of a path parameter that the document does not allow, by its enum or by paths with the value written out. */
function missingValues(
  { name, values = [] }: EndpointParameter,
  expected: Endpoint,
  operations: readonly { readonly path: string; readonly operation: Operation }[],
): string[] {
  const at = expected.path.split('/').indexOf(`{${name}}`);
  const taken = (value: string): boolean =>
    operations.some(({ path, operation }) => {
      const part = path.split('/')[at] ?? '';
      if (!part.startsWith('{')) return part === value;
      const own = operation.parameters.find((parameter) => parameter.in === 'path' && `{${parameter.name}}` === part);
      const allowed = own === undefined ? null : allowedValues(own.schema);
      return allowed === null || allowed.includes(value);
    });
  return values.filter((value) => !taken(value)).map((value) => `the parameter ${name} does not take '${value}'`);
}

function allowedValues(schema: Json): readonly unknown[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  if ('const' in schema) return [schema['const']];
  const choices: unknown = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(choices)) return null;
  const lists = choices.map((choice) => (typeof choice === 'object' && choice !== null ? allowedValues(choice) : null));
  return lists.includes(null) ? null : lists.flatMap((list) => list ?? []);
}

function queryFaults({ name, maximum }: EndpointParameter, own: readonly Parameter[]): string[] {
  const found = own.find((parameter) => parameter.in === 'query' && parameter.name === name);
  if (found === undefined) return [`the query has no parameter ${name}`];
  const most = found.schema['maximum'] ?? found.schema['exclusiveMaximum'];
  const tooSmall = maximum !== undefined && typeof most === 'number' && most < maximum;
  return tooSmall ? [`the parameter ${name} is at most ${most}, and ${maximum} may be asked for`] : [];
}

function unknownParameters({ parameters }: Endpoint, operation: Operation): [Severity, string][] {
  return operation.parameters
    .filter((own) => own.in === 'query' || ((own.in === 'header' || own.in === 'cookie') && own.required))
    .filter((own) => !parameters.some((known) => known.in === own.in && known.name === own.name))
    .filter((own) => !(own.in === 'header' && /^(?:authorization|accept|user-agent)$/iu.test(own.name)))
    .map(({ name, in: where, required }) => [
      required ? 'missing' : 'more',
      `the ${where} parameter ${name}${required ? ' is required, and domainsync does not send it' : ''}`,
    ]);
}

function authFaults({ auth }: Endpoint, { security }: Operation): [Severity, string][] {
  const open = security.length === 0 || security.some((schemes) => schemes.length === 0);
  const bearer = security.some((schemes) => schemes.length === 1 && schemes.every(takesBearer));
  const names = security.map((schemes) => schemes.map(({ name }) => name).join(' and ')).join(', or ');
  if (auth === 'bearer' && open) return [['differs', 'it asks for no key']];
  if (!open && !bearer) return [['missing', `it takes no bearer key, but ${names}`]];
  return auth === 'none' && !open ? [['missing', 'it is not public any more: it asks for a key']] : [];
}

/** Whether a scheme is `Authorization: Bearer`, in any of the ways in which documents describe that. */
function takesBearer({ type, scheme, header }: Scheme): boolean {
  if (type === 'http') return scheme === 'bearer';
  return type === 'oauth2' || type === 'openidconnect' || type === '' || header === 'authorization';
}
