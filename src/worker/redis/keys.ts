/** Names in Redis: BullMQ's queues and domainsync's own keys. No name contains a secret. */

/** Schedules, and the checks they create (docs/contract.md, "Worker"). */
export const CHECK_QUEUE = 'domainsync';
/** The loads. A separate queue lets a worker that is busy with a load still run checks. */
export const SYNC_QUEUE = 'domainsync-sync';

/** The schedules in force, whichever worker stored them. */
export const SCHEDULES_KEY = 'domainsync:schedules';
export const SCHEDULES_LOCK = 'domainsync:schedules:lock';
/** Published when something that the status shows has changed, or a run has progressed. */
export const NEWS_CHANNEL = 'domainsync:news';

/** A hash: what was found and done last. */
export function recordKey(pipeline: string): string {
  return `domainsync:pipeline:${pipeline}`;
}

/** Progress of the running load. Expires unless renewed. */
export function liveKey(pipeline: string): string {
  return `domainsync:live:${pipeline}`;
}

export const WORKER_PREFIX = 'domainsync:worker:';

/** Requests sent recently to one route. @param serviceId a hash of service and key */
export function limitKey(serviceId: string, route: string): string {
  return `domainsync:limit:${serviceId}:${route}`;
}
