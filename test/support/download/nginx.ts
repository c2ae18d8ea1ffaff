/** nginx serving one file: independent of this project, with ranges and with its limits enabled. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { answers, freePort } from '../network/ports.ts';
import { until } from '../until.ts';

const PACKAGE = 'nginx-light';

export interface NginxOptions {
  /** An existing folder for its files. */
  readonly folder: string;
  /** The file served at `/api/download/dns`; it may be replaced by a rename. */
  readonly path: string;
  /** File name in Content-Disposition. */
  readonly name: string;
  /** Bytes per second and connection (`limit_rate`). */
  readonly bytesPerSecond: number;
  /** Downloads at a time (`limit_conn`); more get 503. */
  readonly connections: number;
}

/** A request as nginx logged it once it had ended. */
export interface NginxRequest {
  readonly status: number;
  /** Bytes of the body that were sent. */
  readonly bytes: number;
  /** The Range header, `-` for none. */
  readonly range: string;
}

export interface Nginx {
  readonly url: string;
  /** Kills it and starts it again on the same port. */
  restart(): Promise<void>;
  requests(): Promise<NginxRequest[]>;
  close(): Promise<void>;
}

/** @throws Error when nginx is not there and cannot be installed */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const { folder } = options;
  const program = nginxProgram();
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  await mkdir(join(folder, 'temp'), { recursive: true });
  await writeFile(config, configuration(options, port));
  let child = await start(program, folder, config, port);
  return {
    url: `http://127.0.0.1:${port}`,
    async restart() {
      await stop(child);
      child = await start(program, folder, config, port);
    },
    async requests() {
      const lines = (await readFile(join(folder, 'access.log'), 'utf8')).trim().split('\n');
      return lines.map((line) => {
        const [status = '', bytes = '', range = ''] = line.split(' ');
        return { status: Number(status), bytes: Number(bytes), range };
      });
    },
    close: () => stop(child),
  };
}

function configuration({ folder, path, name, bytesPerSecond, connections }: NginxOptions, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // The temporary folders of tests are open to their owner only.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `${user}
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/temp/${kind};`).join('\n  ')}
  log_format requests '$status $body_bytes_sent $http_range';
  access_log ${folder}/access.log requests;
  limit_conn_zone $server_port zone=downloads:1m;
  server {
    listen 127.0.0.1:${port};
    location = /api/download/dns {
      alias ${path};
      default_type application/zstd;
      add_header Content-Disposition 'attachment; filename="${name}"';
      limit_rate ${bytesPerSecond};
      limit_conn downloads ${connections};
    }
  }
}
`;
}

async function start(program: string, folder: string, config: string, port: number): Promise<ChildProcess> {
  const child = spawn(program, ['-p', folder, '-c', config, '-e', join(folder, 'error.log')], { stdio: 'ignore' });
  let ended = false;
  child.once('close', () => {
    ended = true;
  });
  await until(async () => {
    if (ended) throw new Error(`nginx ended: ${await readFile(join(folder, 'error.log'), 'utf8')}`);
    return answers(port);
  });
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

/** Where nginx is; installed from Debian's packages when it is missing and this may be done. */
function nginxProgram(): string {
  const found = lookUp('nginx');
  if (found !== null) return found;
  if (process.getuid?.() === 0 && lookUp('apt-get') !== null) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { stdio: 'ignore', env });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', PACKAGE], { stdio: 'ignore', env });
  }
  const installed = lookUp('nginx');
  if (installed !== null) return installed;
  throw new Error(`this test needs nginx: install it (Debian, Ubuntu: apt-get install ${PACKAGE}) and run again`);
}

function lookUp(program: string): string | null {
  // Debian keeps servers where the PATH of users who are not root does not lead.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path)) ?? null;
}
