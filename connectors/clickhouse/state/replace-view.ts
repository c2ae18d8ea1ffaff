/** A view in place of another one. */
import type { Session } from '../server/session.ts';

/**
 * Exchanges a view of ours for another one: at no moment is there none. Harmless when repeated.
 * @param of the view's bare name, and who replaces it: pipelines of one table may do so at once
 * @param create CREATE VIEW of a qualified and quoted name, with `placing.onCluster` in it
 */
export async function replaceView(
  session: Session,
  { name, pipeline }: { readonly name: string; readonly pipeline: string },
  create: (view: string) => string,
): Promise<void> {
  const fresh = session.table(`domainsync_view_${pipeline}_${name}`);
  const { onCluster } = session.placing;
  const drop = `DROP VIEW IF EXISTS ${fresh}${onCluster} SYNC`;
  await session.define(drop);
  await session.define(create(fresh));
  await session.defineOnce(`EXCHANGE TABLES ${fresh} AND ${session.table(name)}${onCluster}`);
  await session.define(drop);
}
