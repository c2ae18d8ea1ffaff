/**
 * Substitutes `${NAME}` and `${NAME:-default}` in values (docs/contract.md, "Configuration"). The result stays marked as environment
 * text: numbers and booleans have to be parsed from it, and it may be a secret.
 */

/** A value that contained a variable. Its text is never parsed as YAML and never expanded again. */
export class EnvText {
  readonly text: string;
  /** Why the text is unknown, for a person; null if it is known. */
  readonly fault: string | null;
  /** True if the fault is an unset variable. */
  readonly unset: boolean;
  /** The variables that it contained. */
  readonly names: readonly string[];

  constructor(text: string, fault: string | null, unset: boolean, names: readonly string[]) {
    this.text = text;
    this.fault = fault;
    this.unset = unset;
    this.names = names;
  }
}

/** Variables by name, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([^}]*)(\}?)/g;
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^$]|\$(?!\{))*))?$/;

/** Deeper than any configuration. An alias inside its own anchor makes an endless structure. */
const MAX_DEPTH = 16;

/** Thrown for an endless structure. */
export class TooDeep extends Error {}

/**
 * Copies parsed YAML and turns every text with a reference into an EnvText. Keys stay as they are.
 * @throws TooDeep
 */
export function substitute(value: unknown, env: Environment, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new TooDeep('nested too deeply');
  if (typeof value === 'string') return value.includes('${') ? expand(value, env) : value;
  if (Array.isArray(value)) return value.map((item) => substitute(item, env, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines keys; assigning to a key `__proto__` would change the prototype.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, env, depth + 1)]));
}

function expand(text: string, env: Environment): EnvText {
  const unset: string[] = [];
  const names = new Set<string>();
  let malformed = false;
  const expanded = text.replace(REFERENCE, (_all, inside: string, end: string) => {
    const [, name, fallback] = INSIDE.exec(inside) ?? [];
    if (name === undefined || end === '') {
      malformed = true;
      return '';
    }
    names.add(name);
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    // As in a shell, `:-` also applies to an empty variable.
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) unset.push(name);
    return value ?? '';
  });
  // The message omits the text: it may hold a secret next to the reference.
  if (malformed) {
    return new EnvText('', `a reference to the environment is written \${NAME} or \${NAME:-default}`, false, []);
  }
  if (unset.length === 0) return new EnvText(expanded, null, false, [...names]);
  const missing = [...new Set(unset)].join(', ');
  const what = unset.length === 1 ? `variable ${missing} is` : `variables ${missing} are`;
  return new EnvText('', `the environment ${what} not set, and no default is given`, true, [...names]);
}
