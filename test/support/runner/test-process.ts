/** Runs test files in processes and counts their tests. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from '../package-root.js';
import type { TestOrder } from './test-host.js';

export interface TestTotals {
  passed: number;
  skipped: number;
  /** What failed, and why. */
  failures: readonly string[];
  /** Tests that passed, but took more than a third of the time that they may take. */
  nearTimeout: readonly string[];
  /** Seconds of each file, by its path in `dist`. */
  seconds: Readonly<Record<string, number>>;
  /** Of the processor in them: of the process and of those that it has started and that have ended. */
  cpu: Readonly<Record<string, number>>;
}

export interface TestRun extends TestTotals {
  /** What the reporter and the tests themselves have written. */
  output: string;
}

export interface TestProcessOptions {
  /** Runs the files of a share and the tests in them from the last to the first; of test/e2e and test/long, the suites alone. Default false. */
  reverse?: boolean;
  /** Variables besides those of this process. */
  environment?: Readonly<Record<string, string>>;
}

/** Files of a process at most, and bytes that it may hold before the next: what the modules of tests hold is never freed. */
const MAX_FILES = 60;
const MAX_BYTES = 700 * 1024 ** 2;

/** A process that runs test files share by share. Loading what they all import takes a second, so it serves for many. */
export class TestProcess {
  readonly #reverse: boolean;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #output: FileHandle;
  readonly #ended: Promise<number | NodeJS.Signals>;
  readonly #kill: () => void;
  #read = 0;
  #files = 0;
  #bytes = 0;
  #hasEnded = false;

  static async start({ reverse = false, environment = {} }: TestProcessOptions = {}): Promise<TestProcess> {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-tests-'));
    // A file, since a pipe would stay open as long as any process that a test has left behind.
    const output = await open(path.join(folder, 'output'), 'w+');
    return new TestProcess(folder, output, reverse, environment);
  }

  private constructor(
    folder: string,
    output: FileHandle,
    reverse: boolean,
    environment: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#output = output;
    this.#reverse = reverse;
    this.#child = fork(path.join(packageRoot, 'dist/test/support/runner/test-host.js'), [], {
      cwd: packageRoot,
      env: { ...process.env, ...environment },
      stdio: ['ignore', output.fd, output.fd, 'ipc'],
    });
    this.#kill = () => this.#child.kill();
    process.once('exit', this.#kill);
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => {
      this.#hasEnded = true;
      return signal ?? code;
    });
  }

  /** Whether it has ended, or holds so much that another one should go on. */
  get isWorn(): boolean {
    return this.#hasEnded || this.#files >= MAX_FILES || this.#bytes > MAX_BYTES;
  }

  /** Runs test files, one after the other. If the process dies, they have failed, whatever has passed before. */
  async run(files: readonly string[]): Promise<TestRun> {
    const totalsFile = path.join(this.#folder, 'totals.json');
    await rm(totalsFile, { force: true });
    this.#files += files.length;
    const color = process.stdout.isTTY === true;
    const order: TestOrder = { files, output: totalsFile, reverse: this.#reverse, color };
    const answered = once(this.#child, 'message').then(([bytes]) => {
      this.#bytes = Number(bytes);
      return undefined;
    });
    this.#child.send(order);
    const death = await Promise.race([answered, this.#ended]);
    const totals = death === undefined ? await readTotals(totalsFile) : undefined;
    const failures = totals?.failures ?? [`a process of the tests ended with ${death}: ${files.join(' ')}`];
    const { passed = 0, skipped = 0, nearTimeout = [], seconds = {}, cpu = {} } = totals ?? {};
    return { passed, skipped, failures, nearTimeout, seconds, cpu, output: await this.#written() };
  }

  /** Ends it, as a whole process of tests ends: with all that the tests have started. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
    process.off('exit', this.#kill);
    await this.#output.close();
    await rm(this.#folder, { recursive: true });
  }

  /** What it has written since the last time. */
  async #written(): Promise<string> {
    const { size } = await this.#output.stat();
    const { buffer, bytesRead } = await this.#output.read({
      buffer: Buffer.alloc(size - this.#read),
      position: this.#read,
    });
    this.#read += bytesRead;
    return buffer.toString('utf8', 0, bytesRead);
  }
}

/** Runs test files in a process of their own. */
export async function runTestFiles(files: readonly string[], options?: TestProcessOptions): Promise<TestRun> {
  const own = await TestProcess.start(options);
  return own.run(files).finally(() => own.end());
}

/** Undefined where the process did not come to the end of its tests. */
async function readTotals(file: string): Promise<TestTotals | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as TestTotals);
}
