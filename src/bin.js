#!/usr/bin/env node
// Starts domainsync. Plain JavaScript of 2018 on purpose: an old Node must be able to read this file to say that it is
// too old. Below 24.20, Node ends a truncated zstd stream without an error (docs/architecture.md, "zstd").
// biome-ignore-all lint/style/useNodejsImportProtocol: Node 12 does not know the protocol in import statements.
import { spawn } from 'child_process';
import { existsSync, realpathSync } from 'fs';
import module from 'module';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';

// The same as engines.node in package.json; a test compares them.
const NEEDED = [24, 20, 0];

const here = dirname(fileURLToPath(import.meta.url));

function isOldNode() {
  const running = process.versions.node.split('.').map(Number);
  const n = NEEDED.findIndex((part, index) => running[index] !== part);
  return n >= 0 && running[n] < NEEDED[n];
}

/** The Node that a checkout brings along as a development dependency; null where there is none but this one. */
function ownNode() {
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  const path = join(here, '..', 'node_modules', 'node', 'bin', file);
  // Without the comparison, a checkout with an old Node of its own would start itself for ever.
  return existsSync(path) && realpathSync(path) !== realpathSync(process.execPath) ? path : null;
}

function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url)].concat(process.argv.slice(2)), { stdio: 'inherit' });
  // A terminal sends Ctrl+C and its own end to the child as well: passed on, they would arrive twice.
  const terminal = Boolean(process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY);
  const handlers = ['SIGINT', 'SIGHUP', 'SIGTERM'].map((signal) => {
    const handler = () => {
      if (signal === 'SIGTERM' || !terminal) child.kill(signal);
    };
    process.on(signal, handler);
    return [signal, handler];
  });
  child.on('error', (error) => {
    process.stderr.write(`domainsync: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    handlers.forEach((entry) => {
      process.removeListener(entry[0], entry[1]);
    });
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
}

/**
 * Compiling is two fifths of what starting a command costs, so what was compiled is kept: beside the sources, not where Node
 * keeps it by default, a folder for everybody, in which others could lay code under it. Where this one cannot be written,
 * nothing is kept. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE go before it.
 */
function keepCompiled() {
  module.enableCompileCache(join(here, '..', '.cache', 'compiled'));
}

/** Modules may be what could not be read, also those that tell of errors otherwise. */
function told(error) {
  const stack = error instanceof Error ? error.stack : String(error);
  if (!/\bEMFILE\b|too many open files/i.test(stack)) return `domainsync: ${stack}`;
  return `error LOCAL_OPEN_FILES: the limit of open files is too low to start: ${error.message}
what to do: Raise it (ulimit -n 1024 in the shell, LimitNOFILE=1024 in a unit of systemd), then run again.`;
}

function run() {
  // Node does not run TypeScript inside node_modules, so a package holds compiled files instead of the sources.
  // Should main ever be left waiting for what never comes, Node would end with 0 and without a word.
  process.exitCode = 1;
  keepCompiled();
  const path = existsSync(join(here, 'cli.ts')) ? './cli.ts' : '../dist/src/cli.js';
  return import(path)
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      process.stderr.write(`${told(error)}\n`);
      process.exitCode = 1;
    });
}

if (!isOldNode()) {
  run();
} else {
  const node = ownNode();
  if (node) {
    runWith(node);
  } else {
    const needed = NEEDED.join('.');
    process.stderr.write(`domainsync needs Node ${needed} or later, and this is Node ${process.versions.node}.\n`);
    process.stderr.write(`Install Node ${needed} or later (https://nodejs.org) and run it again.\n`);
    process.exitCode = 2;
  }
}
