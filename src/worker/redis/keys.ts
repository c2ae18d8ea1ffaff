/** Names in Redis: BullMQ's queues, and domainsync's own keys beside them. No secret stands in a name. */

/** Schedules, and the checks that they make (docs/contract.md, "Worker"). */
export const CHECK_QUEUE = 'domainsync';
/** The loads. A queue of their own: a worker whose hands are full with a load still checks. */
export const SYNC_QUEUE = 'domainsync-sync';

/** The schedules in force, whoever laid them. */
export const SCHEDULES_KEY = 'domainsync:schedules';
export const SCHEDULES_LOCK = 'domainsync:schedules:lock';
/** Something that the status shows has changed, or a run got further. */
export const NEWS_CHANNEL = 'domainsync:news';

/** A hash: what was found and done last. */
export function recordKey(pipeline: string): string {
  return `domainsync:pipeline:${pipeline}`;
}

/** Progress of the run at work; gone when nobody renews it. */
export function liveKey(pipeline: string): string {
  return `domainsync:live:${pipeline}`;
}

export const WORKER_PREFIX = 'domainsync:worker:';

/** Requests sent of late to one route. @param serviceId a hash of service and key */
export function limitKey(serviceId: string, route: string): string {
  return `domainsync:limit:${serviceId}:${route}`;
}
