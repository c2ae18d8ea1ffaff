/** Where the service's OpenAPI document is not as domainsync relies on it. Pure. */
import type { ContractDifference } from '../../../src/types/index.ts';
import { RELIED, type ReliedEndpoint, type ReliedParameter } from './expected-endpoints.ts';
import { type Endpoint, type Json, type Operation, type Parameter, readContract, type Scheme } from './openapi.ts';

type Severity = ContractDifference['severity'];
const WORST_FIRST: readonly Severity[] = ['missing', 'differs', 'more'];

/** The differences, the worst first; null when the document is none of OpenAPI. */
export function compareContract(document: unknown): readonly ContractDifference[] | null {
  const contract = readContract(document);
  if (contract === null) return null;
  const found: ContractDifference[] = [];
  const { version, endpoints } = contract;
  if (version === null || !/^3\.1(\.|$)/u.test(version)) {
    const what = `OpenAPI 3.1 is expected, the document says ${version ?? 'nothing'}`;
    found.push({ severity: 'differs', where: 'openapi', what });
  }
  const known = new Set<Endpoint>();
  for (const relied of RELIED) {
    const matching = endpoints.flatMap((endpoint) => {
      const path = endpoint.paths.find((own) => matches(own, relied));
      if (path !== undefined) known.add(endpoint);
      return path === undefined ? [] : [{ path, get: endpoint.get }];
    });
    found.push(...compareEndpoint(relied, matching));
  }
  for (const { paths } of endpoints.filter((endpoint) => !known.has(endpoint))) {
    found.push({ severity: 'more', where: paths[0], what: 'an endpoint that domainsync does not know' });
  }
  return found.sort((a, b) => WORST_FIRST.indexOf(a.severity) - WORST_FIRST.indexOf(b.severity));
}

/** The path itself, whatever its parameters are called; or one of it with a value written out, such as a scope. */
function matches(path: string, { path: relied, parameters }: ReliedEndpoint): boolean {
  const parts = path.split('/');
  const wanted = relied.split('/');
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

function compareEndpoint(relied: ReliedEndpoint, matching: readonly Match[]): ContractDifference[] {
  const where = `GET ${relied.path}`;
  if (matching.length === 0) return [{ severity: 'missing', where, what: 'the path is not in the document' }];
  const operations = matching.flatMap(({ path, get }) => (get === null ? [] : [{ path, operation: get }]));
  const [first] = operations;
  if (first === undefined) return [{ severity: 'missing', where, what: 'the path has no GET' }];
  const told =
    (severity: Severity) =>
    (what: string): ContractDifference => ({ severity, where, what });
  const found: ContractDifference[] = [];
  for (const parameter of relied.parameters) {
    const faults =
      parameter.in === 'path'
        ? missingValues(parameter, relied, operations)
        : queryFaults(parameter, first.operation.parameters);
    found.push(...faults.map(told('missing')));
  }
  found.push(...unknownParameters(relied, first.operation).map(([severity, what]) => told(severity)(what)));
  found.push(...authFaults(relied, first.operation).map(([severity, what]) => told(severity)(what)));
  const { statuses } = first.operation;
  const has = (status: string): boolean =>
    statuses.some((own) => own === status || own.toUpperCase() === `${status[0]}XX` || own === 'default');
  found.push(...relied.succeeds.filter((status) => !has(status)).map((s) => told('missing')(`no response ${s}`)));
  found.push(...relied.fails.filter((status) => !has(status)).map((s) => told('differs')(`no response ${s}`)));
  return found;
}

/** Values of a path parameter that no path takes: by its enum, or by paths with the value written out. */
function missingValues(
  { name, values = [] }: ReliedParameter,
  relied: ReliedEndpoint,
  operations: readonly { readonly path: string; readonly operation: Operation }[],
): string[] {
  const at = relied.path.split('/').indexOf(`{${name}}`);
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

function queryFaults({ name, maximum }: ReliedParameter, own: readonly Parameter[]): string[] {
  const found = own.find((parameter) => parameter.in === 'query' && parameter.name === name);
  if (found === undefined) return [`the query has no parameter ${name}`];
  const most = found.schema['maximum'] ?? found.schema['exclusiveMaximum'];
  const tooSmall = maximum !== undefined && typeof most === 'number' && most < maximum;
  return tooSmall ? [`the parameter ${name} is at most ${most}, and ${maximum} may be asked for`] : [];
}

function unknownParameters({ parameters }: ReliedEndpoint, operation: Operation): [Severity, string][] {
  return operation.parameters
    .filter((own) => own.in === 'query' || ((own.in === 'header' || own.in === 'cookie') && own.required))
    .filter((own) => !parameters.some((known) => known.in === own.in && known.name === own.name))
    .filter((own) => !(own.in === 'header' && /^(?:authorization|accept|user-agent)$/iu.test(own.name)))
    .map(({ name, in: where, required }) => [
      required ? 'missing' : 'more',
      `the ${where} parameter ${name}${required ? ' is required, and domainsync does not send it' : ''}`,
    ]);
}

function authFaults({ auth }: ReliedEndpoint, { security }: Operation): [Severity, string][] {
  const open = security.length === 0 || security.some((schemes) => schemes.length === 0);
  const bearer = security.some((schemes) => schemes.length === 1 && schemes.every(takesBearer));
  const names = security.map((schemes) => schemes.map(({ name }) => name).join(' and ')).join(', or ');
  if (auth === 'bearer' && open) return [['differs', 'it asks for no key']];
  if (!open && !bearer) return [['missing', `it takes no bearer key, but ${names}`]];
  return auth === 'none' && !open ? [['missing', 'it is not public any more: it asks for a key']] : [];
}

/** A key sent as `Authorization: Bearer`, by whichever of the ways in which documents describe that. */
function takesBearer({ type, scheme, header }: Scheme): boolean {
  if (type === 'http') return scheme === 'bearer';
  return type === 'oauth2' || type === 'openidconnect' || type === '' || header === 'authorization';
}
