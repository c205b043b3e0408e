/*
 * A process that runs one command of `mediagate` after the other, each as a process of its own would: the whole program,
 * with its arguments, its environment and its folder. What the commands import is loaded once, which takes several times as
 * long as most commands do. This file is both ends: the class that tests use, and what runs in the process.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What a finished command said. */
export interface CommandResult {
  /** Null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface HostedCommand {
  /** The compiled program. */
  program: string;
  args: readonly string[];
  /** All of it. */
  environment: NodeJS.ProcessEnv;
  folder: string;
}

interface Order extends HostedCommand {
  /** Written to both outputs at the end: a logger writes to a descriptor, past everything that could be asked. */
  mark: string;
}

export class CommandHost {
  readonly process: ChildProcess;
  readonly #closed: Promise<number | null>;

  constructor(flags: readonly string[], environment: NodeJS.ProcessEnv) {
    this.process = fork(fileURLToPath(import.meta.url), [], {
      execArgv: [...flags],
      detached: true,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#closed = once(this.process, 'close').then(([code]) => code);
    for (const output of this.#outputs) output.setEncoding('utf8');
  }

  /** One at a time. A command that ends the process has ended with its code. */
  async run(command: HostedCommand): Promise<CommandResult> {
    const order: Order = { ...command, mark: `<${randomUUID()}>` };
    for (const handle of this.#handles) handle?.ref();
    const [stdout, stderr] = this.#outputs.map((output) => new MarkedText(output, order.mark)) as [
      MarkedText,
      MarkedText,
    ];
    const answered = once(this.process, 'message').then(async ([code]): Promise<number> => {
      await Promise.all([stdout.whole, stderr.whole]);
      return code;
    });
    this.process.send(order);
    const code = await Promise.race([this.#closed, answered]);
    for (const handle of this.#handles) handle?.unref();
    return { code, stdout: stdout.end(), stderr: stderr.end() };
  }

  get isAlive(): boolean {
    return this.process.connected;
  }

  get #outputs(): Socket[] {
    return [this.process.stdout, this.process.stderr] as Socket[];
  }

  /** While it is idle, none of them keeps this process from ending. */
  get #handles() {
    return [this.process, this.process.channel, ...this.#outputs];
  }
}

/** What a stream brings up to a mark. */
class MarkedText {
  readonly whole: Promise<void>;
  readonly #stream: Socket;
  readonly #mark: string;
  #text = '';
  #take: (chunk: string) => void = () => {};

  constructor(stream: Socket, mark: string) {
    this.#stream = stream;
    this.#mark = mark;
    this.whole = new Promise((resolve) => {
      this.#take = (chunk) => {
        this.#text += chunk;
        if (this.#text.endsWith(mark)) resolve();
      };
    });
    stream.on('data', this.#take);
  }

  /** Stops reading. @returns The text without its mark. */
  end(): string {
    this.#stream.off('data', this.#take);
    return this.#text.replace(this.#mark, '');
  }
}

/** The bundled program: the first command runs when it is loaded. */
interface Program {
  ended: Promise<void>;
  runProgram(): Promise<void>;
}

let loaded: Program | undefined;

/** @returns The exit code. */
async function run({ program, args, environment, folder }: HostedCommand): Promise<number> {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  process.argv = [process.execPath, program, ...args];
  process.exitCode = undefined;
  try {
    if (loaded) await loaded.runProgram();
    else {
      loaded = createRequire(import.meta.url)(program) as Program;
      await loaded.ended;
    }
    return Number(process.exitCode ?? 0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  } finally {
    process.exitCode = undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', async (order: Order) => {
    const code = await run(order);
    process.stdout.write(order.mark);
    process.stderr.write(order.mark);
    process.send?.(code);
  });
  // The tests have ended.
  process.once('disconnect', () => process.exit());
}
