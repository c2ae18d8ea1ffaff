/** Reads an OpenAPI 3.x document: the parts that domainsync compares, with references resolved. Pure. */
import { z } from 'zod';

/** References may lead in a circle. */
const MAX_REFERENCES = 10;

const object = z.record(z.string(), z.unknown());
const documentSchema = z.looseObject({ paths: object });

export type Json = Readonly<z.infer<typeof object>>;

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Json;
}

export interface Operation {
  readonly parameters: readonly Parameter[];
  /** Alternatives. Each is the schemes that must all be satisfied; an empty one allows access without credentials. */
  readonly security: readonly (readonly Scheme[])[];
  readonly statuses: readonly string[];
}

export interface Scheme {
  readonly name: string;
  /** `http`, `apiKey`, `oauth2`, `openIdConnect`, ...; empty where the document does not say. */
  readonly type: string;
  /** Of type `http`: `bearer`, `basic`, ... */
  readonly scheme: string;
  /** Of type `apiKey`: the header with the key, in lower case; empty where the key is not in a header. */
  readonly header: string;
}

interface Contract {
  /** Such as `3.1.0`; null: the document does not say. */
  readonly version: string | null;
  readonly items: readonly PathItem[];
}

export interface PathItem {
  /** The path as it is written, and with the path of each server in front of it. */
  readonly paths: readonly [string, ...string[]];
  /** Null: the path has no GET. */
  readonly get: Operation | null;
}

/** @returns null: this is no OpenAPI document */
export function readContract(value: unknown): Contract | null {
  const parsed = documentSchema.safeParse(value);
  if (!parsed.success) return null;
  const document = parsed.data;
  const items = Object.entries(document.paths).map(([path, value]): PathItem => {
    const item = resolve(document, value);
    const { get, servers = document['servers'] } = item;
    const paths: [string, ...string[]] = [path, ...prefixesOf(servers).map((prefix) => `${prefix}${path}`)];
    return { paths, get: get === undefined ? null : operationOf(document, item, resolve(document, get)) };
  });
  const version = document['openapi'];
  return { version: typeof version === 'string' ? version : null, items };
}

/** The object that a value is or refers to, by `$ref` within the document; an empty object where there is none. */
function resolve(document: Json, value: unknown): Json {
  let found = objectOf(value);
  for (let steps = 0; steps < MAX_REFERENCES; steps += 1) {
    const { $ref: reference } = found;
    if (typeof reference !== 'string') return found;
    if (!reference.startsWith('#/')) return {};
    const parts = reference.slice(2).split('/');
    found = objectOf(
      parts.reduce<unknown>((inner, part) => {
        const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
        const outer = objectOf(inner);
        return Object.hasOwn(outer, name) ? outer[name] : undefined;
      }, document),
    );
  }
  return {};
}

/** The paths of servers, such as `/api/v1`. */
function prefixesOf(servers: unknown): string[] {
  const prefixes = new Set<string>();
  for (const server of arrayOf(servers)) {
    const { url } = objectOf(server);
    const parsed = typeof url === 'string' ? URL.parse(url, 'https://base.invalid') : null;
    if (parsed !== null) prefixes.add(parsed.pathname.replace(/\/+$/u, ''));
  }
  return [...prefixes];
}

function operationOf(document: Json, item: Json, operation: Json): Operation {
  const parameters = new Map<string, Parameter>();
  for (const value of [...arrayOf(item['parameters']), ...arrayOf(operation['parameters'])]) {
    const { name, in: where, required, schema } = resolve(document, value);
    if (typeof name !== 'string' || typeof where !== 'string') continue;
    const own = { name, in: where, required: required === true, schema: resolve(document, schema) };
    parameters.set(`${where} ${name}`, own);
  }
  const schemes = objectOf(objectOf(document['components'])['securitySchemes']);
  const security = arrayOf(operation['security'] ?? document['security']).map((requirement) =>
    Object.keys(objectOf(requirement)).map((name) => {
      const { type, scheme, in: where, name: header } = resolve(document, schemes[name]);
      return { name, type: lower(type), scheme: lower(scheme), header: where === 'header' ? lower(header) : '' };
    }),
  );
  const statuses = Object.keys(objectOf(operation['responses']));
  return { parameters: [...parameters.values()], security, statuses };
}

function objectOf(value: unknown): Json {
  const parsed = object.safeParse(value);
  return parsed.success ? parsed.data : {};
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function lower(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : '';
}
