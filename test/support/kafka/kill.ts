/**
 * Kills domainsync and the broker while three files are published, and checks what consumers saw in the end.
 * `npm run test:kill-kafka -- --seed n --kills n`: kills domainsync n times, and the broker a tenth as often.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { leaseEmbeddedServer } from '../../../connectors/clickhouse/embedded/launch.ts';
import { Server } from '../../../connectors/clickhouse/server/client.ts';
import { endServer } from '../clickhouse/embedded-servers.ts';
import { random } from '../download/zst.ts';
import { startBroker, type TestBroker } from './broker.ts';
import { kafkaFile } from './files.ts';
import { type ChildOutcome, savedFile, startChild, topicFaults } from './run.ts';

export interface KillFigures {
  /** Of domainsync; and how many hit a run that was still at work. */
  kills: number;
  hits: number;
  brokerKills: number;
  /** Runs that gave up waiting for the broker. */
  unreachable: number;
  /** Runs that came to their end; topics that were looked at. */
  runs: number;
  topics: number;
  readonly faults: string[];
}

export interface KillOptions {
  readonly seed: number;
  /** Kills of domainsync that hit a run at work. */
  readonly kills: number;
  /** Kills of the broker. */
  readonly brokerKills: number;
  readonly rows?: number;
  readonly told?: (figures: KillFigures) => void;
}

/** Longest time from a start to the kill, in milliseconds; adapted to how long runs take. */
const FIRST_WINDOW_MS = 2_500;

/** One topic after the other, in both modes in turn, until there were as many kills. */
export async function killCampaign(options: KillOptions): Promise<KillFigures> {
  const draw = random(options.seed);
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-kill-'));
  const broker = await startBroker({ properties: { 'transaction.max.timeout.ms': '900000' } });
  const lease = await leaseEmbeddedServer(join(folder, 'clickhouse'), new AbortController().signal);
  const { url, username, password } = lease;
  const server = new Server({ url, username, password, database: 'kill', settings: {} });
  const figures: KillFigures = { kills: 0, hits: 0, brokerKills: 0, unreachable: 0, runs: 0, topics: 0, faults: [] };
  const files = [0, 1, 2].map((day) => kafkaFile(day, options.rows ?? 600));
  try {
    const clickhouse = { url, username, password, database: 'kill' };
    const campaign = new Campaign(options, figures, broker, draw);
    while (figures.hits < options.kills || figures.brokerKills < options.brokerKills) {
      const publish = figures.topics % 2 === 0 ? 'changes' : 'snapshot';
      const pipeline = `p${figures.topics}`;
      const common = { broker: broker.address, clickhouse, pipeline, topic: `t${figures.topics}`, publish } as const;
      for (const file of files) {
        const saved = await savedFile(folder, file);
        await campaign.publish({ ...common, file: saved, blockBytes: 6_000, transactionBytes: 2_000 });
      }
      figures.faults.push(...(await topicFaults(broker.address, common.topic, pipeline, files, publish)));
      figures.topics += 1;
      options.told?.(figures);
    }
    return figures;
  } finally {
    await server.close();
    await broker.close();
    lease.release();
    await endServer(lease.endpoint.pid);
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

class Campaign {
  readonly #options: KillOptions;
  readonly #figures: KillFigures;
  readonly #broker: TestBroker;
  readonly #draw: () => number;
  #window = FIRST_WINDOW_MS;

  constructor(options: KillOptions, figures: KillFigures, broker: TestBroker, draw: () => number) {
    this.#options = options;
    this.#figures = figures;
    this.#broker = broker;
    this.#draw = draw;
  }

  /** Starts runs of one file, kills most of them, until one comes to its end. */
  async publish(of: Parameters<typeof startChild>[0]): Promise<void> {
    const figures = this.#figures;
    for (;;) {
      const wanted = figures.hits < this.#options.kills && this.#draw() < 0.8;
      const began = performance.now();
      const { child, ended } = startChild(of);
      if (figures.brokerKills < this.#options.brokerKills && this.#draw() < 0.25) await this.#killBroker();
      if (wanted) {
        await Promise.race([sleep(this.#window * this.#draw()), ended]);
        figures.kills += 1;
        child.kill('SIGKILL');
      }
      const outcome: ChildOutcome = await ended;
      if (outcome === null) {
        figures.hits += 1;
        continue;
      }
      figures.runs += 1;
      // Runs are as long as the machine is slow: kills should fall all over them.
      this.#window = Math.max(500, (this.#window * 3 + (performance.now() - began)) / 4);
      if (outcome.outcome !== 'failed') return;
      // A broker that stays away for longer than a run waits: the next run goes on.
      if (outcome.code === 'DESTINATION_UNREACHABLE') figures.unreachable += 1;
      else figures.faults.push(`${of.topic}: ${outcome.code}: ${outcome.message}`);
    }
  }

  async #killBroker(): Promise<void> {
    await sleep(this.#window * this.#draw());
    await this.#broker.kill();
    this.#figures.brokerKills += 1;
    await sleep(300 * this.#draw());
    await this.#broker.restart();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seed: { type: 'string', default: '1' }, kills: { type: 'string', default: '50' } },
  });
  const kills = Number(values.kills);
  const told = ({ faults, ...rest }: KillFigures): void =>
    console.log(`${JSON.stringify(rest)} ${faults.length === 0 ? '' : JSON.stringify(faults.slice(0, 5))}`);
  const { faults } = await killCampaign({ seed: Number(values.seed), kills, brokerKills: Math.ceil(kills / 10), told });
  console.log(faults.length === 0 ? 'each message exactly once' : faults.join('\n'));
  process.exitCode = faults.length === 0 ? 0 : 1;
}
