/** Starts a server, prints its process id and folder, and waits. */
import { startBed } from './index.ts';

const { servers } = await startBed({ alone: true });
process.send?.({ pid: servers[0]?.pid, folder: servers[0]?.folder });
