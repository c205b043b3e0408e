import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** A program that speaks the DevTools protocol over two pipes. */
export interface BrowserExecutable {
  /** Absolute. */
  path: string;
  /** Folder of shared libraries that the system lacks. Default: none. */
  libraryFolder?: string;
}

/** A browser and all the processes it starts. */
export interface BrowserProcess {
  readonly pid: number;
  /** False from the moment it is known to end. */
  readonly alive: boolean;
  /** Messages to the browser, each ended by a NUL. */
  readonly input: Writable;
  /** Messages from the browser, likewise. */
  readonly output: Readable;
  /** Resolves when the browser is gone, with the last it wrote to its standard error. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends the whole process group at once. Resolves when the browser is gone. Idempotent. */
  kill(): Promise<void>;
}

const KEPT_CHARACTERS = 4_000;

/** @throws Error where the program cannot be run. */
export async function startBrowserProcess(
  { path, libraryFolder }: BrowserExecutable,
  options: { arguments: readonly string[]; profile: string },
): Promise<BrowserProcess> {
  const { profile } = options;
  const child = spawn(path, options.arguments, {
    // A process group of its own can be killed as a whole, and Ctrl-C at the terminal does not reach it.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    cwd: profile,
    env: environment(profile, libraryFolder),
  });
  const ended = collectLastWords(child);
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error('the browser has no process id');
  const [, , , input, output] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
  // The browser closes its ends when it dies, which is seen here before it can be waited for.
  let alive = true;

  const kill = async () => {
    alive = false;
    // The number of a group that is gone may be another one's by now.
    if (child.exitCode === null && child.signalCode === null) killGroup(child, pid);
    await ended;
  };
  for (const end of [input, output]) {
    end.on('error', () => {});
    // One that only hung up would run on, with nobody to end it.
    end.once('close', () => void kill());
  }
  return {
    pid,
    get alive() {
      return alive;
    },
    input,
    output,
    ended,
    kill,
  };
}

/** Nothing of the gateway's own environment, which holds secrets. */
function environment(profile: string, libraryFolder: string | undefined): NodeJS.ProcessEnv {
  const { PATH, LANG, TZ, SystemRoot, FONTCONFIG_FILE, FONTCONFIG_PATH } = process.env;
  return {
    PATH,
    LANG,
    TZ,
    SystemRoot,
    FONTCONFIG_FILE,
    FONTCONFIG_PATH,
    HOME: profile,
    TMPDIR: profile,
    TEMP: profile,
    TMP: profile,
    ...(libraryFolder && { LD_LIBRARY_PATH: libraryFolder }),
  };
}

function collectLastWords(child: ChildProcess): Promise<string> {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    words = (words + chunk).slice(-KEPT_CHARACTERS);
  });
  return new Promise((resolve) => {
    child.once('exit', () => {
      // Its children may outlive a browser that crashed, and keep the pipes open.
      if (child.pid !== undefined) killGroup(child, child.pid);
    });
    child.once('close', () => resolve(words));
    child.once('error', () => resolve(words));
  });
}

function killGroup(child: ChildProcess, pid: number): void {
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-pid, 'SIGKILL');
  } catch {
    // All of the group is gone already.
  }
}
