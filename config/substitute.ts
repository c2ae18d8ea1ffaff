/**
 * `${NAME}` and `${NAME:-default}` in values (docs/contract.md, "Configuration"). What comes out of it stays marked as such, because the
 * environment holds only text (a number or boolean has to be read out of it) and because it may be a secret.
 */

/** A value in which a variable stood. Its text is never parsed as YAML and never expanded again. */
export class EnvText {
  readonly text: string;
  /** What keeps the text from being known, for a person; null when it is known. */
  readonly fault: string | null;
  /** True when the fault is a variable that is not set. */
  readonly unset: boolean;
  /** The variables that stood in it. */
  readonly names: readonly string[];

  constructor(text: string, fault: string | null, unset: boolean, names: readonly string[]) {
    this.text = text;
    this.fault = fault;
    this.unset = unset;
    this.names = names;
  }
}

/** Names of variables to their values, as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([^}]*)(\}?)/g;
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^$]|\$(?!\{))*))?$/;

/** Deeper than any configuration: an alias inside its own anchor makes a structure without an end. */
const MAX_DEPTH = 16;

/** Thrown for a structure without an end. */
export class TooDeep extends Error {}

/**
 * A copy of parsed YAML in which every text with a reference is an EnvText; keys are left as they are.
 * @throws TooDeep
 */
export function substitute(value: unknown, env: Environment, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new TooDeep('nested too deeply');
  if (typeof value === 'string') return value.includes('${') ? expand(value, env) : value;
  if (Array.isArray(value)) return value.map((item) => substitute(item, env, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines keys, where an assignment to a key `__proto__` would change the prototype.
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
    // As in a shell, `:-` also stands in for a variable that is set to nothing.
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) unset.push(name);
    return value ?? '';
  });
  // The text itself stays out of the message: it may hold a secret next to the reference.
  if (malformed) {
    return new EnvText('', `a reference to the environment is written \${NAME} or \${NAME:-default}`, false, []);
  }
  if (unset.length === 0) return new EnvText(expanded, null, false, [...names]);
  const missing = [...new Set(unset)].join(', ');
  const what = unset.length === 1 ? `variable ${missing} is` : `variables ${missing} are`;
  return new EnvText('', `the environment ${what} not set, and no default is given`, true, [...names]);
}
