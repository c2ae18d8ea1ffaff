/** The replicas of a cluster, in text. */
import { formatDuration, formatNumber } from '../common/format.ts';
import type { ClusterStatus, ReplicaStatus } from '../types/index.ts';

/** A replica that has not heard of the others since it started, for lack of ZooKeeper, counts its seconds from 1970. */
const UNKNOWN_DELAY = 1_000_000_000;

/** `c1, 2 of 3 replicas answer` */
export function clusterText({ name, replicas }: ClusterStatus): string {
  const answering = replicas.filter(({ answers }) => answers).length;
  const all = replicas.length === 1 ? 'replica' : 'replicas';
  return `${name}, ${formatNumber(answering)} of ${formatNumber(replicas.length)} ${all} answer`;
}

/** `r1:9000 (home): up to date` */
export function replicaText(replica: ReplicaStatus): string {
  return `${replica.name}${replica.home ? ' (home)' : ''}: ${stateOf(replica)}`;
}

function stateOf({ answers, behindSeconds, queue }: ReplicaStatus): string {
  if (!answers) return 'does not answer';
  if (behindSeconds === null) return 'has no such table';
  if (behindSeconds > UNKNOWN_DELAY) return 'behind, by how much it does not know';
  const states = behindSeconds > 0 ? [`${formatDuration(behindSeconds * 1000)} behind`] : [];
  const changes = queue === 1 ? 'change' : 'changes';
  if (queue !== null && queue > 0) states.push(`${formatNumber(queue)} ${changes} to take over`);
  return states.length === 0 ? 'up to date' : states.join(', ');
}
