/** The argument of child.ts, as JSON. */
export interface ChildJob {
  readonly broker: string;
  readonly clickhouse: {
    readonly url: string;
    readonly username: string;
    readonly password: string;
    readonly database: string;
  };
  readonly pipeline: string;
  readonly topic: string;
  readonly publish: 'changes' | 'snapshot';
  readonly file: { readonly name: string; readonly date: string; readonly size: number; readonly path: string };
  readonly blockBytes: number;
  readonly transactionBytes: number;
}
