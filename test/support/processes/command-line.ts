/** Runs commands of the command line in processes. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { packageRoot } from '../package-root.js';
import { CommandHost, type CommandResult } from './command-host.js';
import { checkPrinted } from './printed-shapes.js';

export type { CommandResult };

export type Environment = Readonly<Record<string, string>>;

/** The bundled command line that the launcher runs; here by the Node that runs the tests, which is new enough. */
const COMMAND_LINE = path.join(packageRoot, 'dist', 'bundle', 'cli.cjs');
/** What the scripts of package.json run. */
const LAUNCHER = path.join(packageRoot, 'server', 'run.cjs');

/** As the launcher starts the gateway: with the flags of the heap that it gave this process, and with the bundle. */
const FLAGS = [
  ...process.execArgv.filter((flag) => /^--(max-semi-space|heap-growing|no-allocation-site)-/.test(flag)),
  '--conditions=mediagate-bundle',
];

/** Whatever happens to the tests, no process of theirs outlives them. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
// Kept while it exits: npm passes a signal on that the whole group was sent, and the second would cut those handlers off.
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

/**
 * Starts `mediagate` with these arguments and only this environment, besides what finding programs, and compiled ones, takes.
 * @param folder To work in. Default: that of the package.
 */
export function startCommand(args: readonly string[], environment: Environment, folder?: string): ChildProcess {
  return start([COMMAND_LINE, ...args], environment, folder);
}

/** Starts what `npm start` starts. */
export function startLauncher(environment: Environment): ChildProcess {
  return start([LAUNCHER, 'start'], environment);
}

function start(args: readonly string[], environment: Environment, folder = packageRoot, input?: string): ChildProcess {
  const child = spawn(process.execPath, [...FLAGS, ...args], {
    cwd: folder,
    // A group of its own: Ctrl-C reaches whoever started it, who then ends it once and in order.
    detached: true,
    // One process, unless a test is about several: each takes a second of CPU to start.
    env: { WORKERS: '1', ...withPrograms(environment) },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  return endWithTests(child);
}

function withPrograms(environment: Environment): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(TMPDIR !== undefined && { TMPDIR }), NODE_COMPILE_CACHE, ...environment };
}

function endWithTests(child: ChildProcess): ChildProcess {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Runs `mediagate` to its end in a process of its own, as {@link startCommand} starts it.
 * @param input What it reads from standard input. Default: nothing.
 */
export async function runAlone(
  args: readonly string[],
  environment: Environment,
  folder?: string,
  input?: string,
): Promise<CommandResult> {
  const child = start([COMMAND_LINE, ...args], environment, folder, input);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** They are read when a process starts. */
const READ_AT_START = /^(?:NODE_|UV_|MALLOC_|TZ$|LANG$|LC_)/;
const idle: CommandHost[] = [];

/**
 * Runs `mediagate` to its end, in a process that has run other commands where one is idle. Commands that serve, or whose
 * environment is read when a process starts, have one of their own. JSON is compared with the declared shape.
 */
export async function runCommand(
  args: readonly string[],
  environment: Environment,
  folder = packageRoot,
): Promise<CommandResult> {
  if (args[0] === 'serve' || Object.keys(environment).some((name) => READ_AT_START.test(name))) {
    return runAlone(args, environment, folder);
  }
  const host = idle.pop() ?? startHost();
  const result = await host.run({ program: COMMAND_LINE, args, environment: withPrograms(environment), folder });
  if (host.isAlive) idle.push(host);
  checkPrinted(args, result.stdout);
  return result;
}

function startHost(): CommandHost {
  const host = new CommandHost(FLAGS, withPrograms({}));
  endWithTests(host.process);
  return host;
}
