/** Users of a ClickHouse server, from its configuration. */

export interface UserOptions {
  /** XML of the settings in the user's profile. */
  readonly settings?: string;
  /** XML of what the user may use up in an hour, such as <queries>. */
  readonly quota?: string;
  /** What the user may do; by default everything. */
  readonly grants?: readonly string[];
}

/** Users without a password, each with a profile and a quota of the same name. */
export function usersXml(users: Readonly<Record<string, UserOptions>>): string {
  const of = (part: (name: string, user: UserOptions) => string): string =>
    Object.entries(users)
      .map(([name, user]) => `<${name}>${part(name, user)}</${name}>`)
      .join('\n');
  return `<profiles>${of((_, { settings = '' }) => settings)}</profiles>
<quotas>${of((_, { quota = '' }) => `<interval><duration>3600</duration>${quota}</interval>`)}</quotas>
<users>${of(
    (
      name,
      { grants = ['GRANT ALL ON *.*'] },
    ) => `<password></password><networks><ip>127.0.0.1</ip></networks><profile>${name}</profile><quota>${name}</quota>
<grants>${grants.map((grant) => `<query>${grant}</query>`).join('')}</grants>`,
  )}</users>`;
}
