/**
 * A real Kafka broker: one node as broker and controller, on free ports, in a temporary folder. Its jars come from Maven
 * Central and stay in a folder that git ignores. DOMAINSYNC_TEST_KAFKA names a running broker instead, as `host:port`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { answers, freePort } from '../network/ports.ts';
import { until } from '../until.ts';

const run = promisify(execFile);
const VERSION = '4.3.0';
const CACHE = fileURLToPath(new URL(`../../../.cache/kafka-${VERSION}`, import.meta.url));
const JAVA = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${CACHE}/*`];

export interface BrokerOptions {
  /** Lines of server.properties that are added, or take the place of those below. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Of the listener that clients use: PLAINTEXT, SASL_SSL, ... */
  readonly protocol?: string;
  /** Arguments of `kafka-storage format`, such as `--add-scram`. */
  readonly format?: readonly string[];
}

export interface TestBroker {
  /** `host:port`. */
  readonly address: string;
  /** The same without TLS and signing in, whatever clients need. */
  readonly internal: string;
  readonly folder: string;
  /** kill -9. */
  kill(): Promise<void>;
  /** It takes connections, and answers nothing, until it goes on. */
  stop(): void;
  goOn(): void;
  /** Starts it again on the same folder and ports; nothing where it runs. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

/** Starts a broker. @throws Error that says what to install */
export async function startBroker(options: BrokerOptions = {}): Promise<TestBroker> {
  const named = process.env['DOMAINSYNC_TEST_KAFKA'];
  if (named !== undefined && Object.keys(options).length === 0) return running(named);
  await fetchJars();
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-kafka-'));
  const ports = { client: await freePort(), internal: await freePort(), controller: await freePort() };
  const config = join(folder, 'server.properties');
  const { protocol = 'PLAINTEXT', properties = {}, format = [] } = options;
  const lines = Object.entries({ ...defaults(folder, ports, protocol), ...properties });
  await writeFile(config, lines.map(([name, value]) => `${name}=${value}`).join('\n'));
  const id = randomBytes(16).toString('base64url');
  const storage = ['kafka.tools.StorageTool', 'format', `--cluster-id=${id}`, '-c', config, ...format];
  await run('java', [...JAVA, ...storage]);
  let child = await start(config, folder, ports.client);
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (ended()) return;
    child.kill(signal);
    await once(child, 'close');
  };
  return {
    address: `127.0.0.1:${ports.client}`,
    internal: `127.0.0.1:${ports.internal}`,
    folder,
    kill: () => kill('SIGKILL'),
    stop: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    restart: async () => {
      if (ended()) child = await start(config, folder, ports.client);
    },
    close: async () => {
      await kill('SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function running(address: string): TestBroker {
  const refuse = (): never => {
    throw new Error('a broker that is not ours is not killed: unset DOMAINSYNC_TEST_KAFKA');
  };
  const ends = { kill: async () => refuse(), restart: async () => refuse(), stop: refuse, goOn: refuse };
  return { address, internal: address, folder: '', ...ends, close: async () => {} };
}

interface Ports {
  readonly client: number;
  /** Of the broker to itself, and to the controller: neither encrypted nor signed in to. */
  readonly internal: number;
  readonly controller: number;
}

function defaults(folder: string, { client, internal, controller }: Ports, protocol: string): Record<string, string> {
  const listeners = `CLIENT://127.0.0.1:${client},INTERNAL://127.0.0.1:${internal}`;
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    listeners: `${listeners},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': listeners,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INTERNAL',
    'listener.security.protocol.map': `CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:${protocol}`,
    'log.dirs': join(folder, 'log'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
  };
}

async function start(config: string, folder: string, port: number): Promise<ChildProcess> {
  // Its log goes nowhere: log4j2 is told nothing, and says so once.
  const child = spawn('java', [...JAVA, 'kafka.Kafka', config], { cwd: folder, stdio: 'ignore' });
  await until(async () => {
    if (child.exitCode !== null)
      throw new Error(`the broker ended with ${child.exitCode}: java -version is 17 or later?`);
    return answers(port);
  });
  return child;
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version>
  </dependency></dependencies>
</project>`;

/** Into a folder of its own first: several test files may start at once. */
async function fetchJars(): Promise<void> {
  if (
    await access(CACHE).then(
      () => true,
      () => false,
    )
  )
    return;
  await mkdir(join(CACHE, '..'), { recursive: true });
  const folder = await mkdtemp(`${CACHE}-`);
  try {
    await writeFile(join(folder, 'pom.xml'), POM);
    const goal = ['-q', '-B', 'dependency:copy-dependencies', '-DincludeScope=runtime', '-DoutputDirectory=lib'];
    await run('mvn', goal, { cwd: folder });
    await rename(join(folder, 'lib'), CACHE).catch(() => {});
  } catch (error) {
    throw new Error('the jars of Kafka could not be fetched: apt-get install default-jre-headless maven', {
      cause: error,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
