/** A Redis that misbehaves as its script asks. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A command as it arrived, its name in capitals. */
export interface RedisCommand {
  name: string;
  parameters: readonly Buffer[];
}

/**
 * What is said to a command: what a Redis would say, this error, or these bytes. `hang` says nothing on that connection
 * from then on, `reset` closes it.
 */
export type RedisFault = 'answer' | 'hang' | 'reset' | { error: string } | { raw: string };

/** A server on 127.0.0.1 that speaks the protocol of Redis, as well as it is told to. */
export interface ScriptedRedis {
  readonly url: string;
  /** Of all commands since the last {@link setFault}. */
  readonly commands: readonly RedisCommand[];
  /** Connections that are open. */
  readonly open: number;
  /** Connections so far. */
  readonly connections: number;
  setFault(fault?: (command: RedisCommand) => RedisFault): void;
  close(): Promise<void>;
}

const CRLF = Buffer.from('\r\n');

/** Keeps what it is given, for as long as it runs. */
export async function startScriptedRedis(): Promise<ScriptedRedis> {
  const values = new Map<string, Buffer>();
  const sockets = new Set<Socket>();
  let connections = 0;
  let commands: RedisCommand[] = [];
  let faultOf: (command: RedisCommand) => RedisFault = () => 'answer';

  function answer({ name, parameters }: RedisCommand): Buffer {
    const [key = '', value = Buffer.alloc(0)] = [String(parameters[0]), parameters[1]];
    if (name === 'GET') {
      const found = values.get(key);
      return found ? Buffer.concat([Buffer.from(`$${found.length}\r\n`), found, CRLF]) : Buffer.from('$-1\r\n');
    }
    if (name === 'SET') values.set(key, value);
    if (name === 'DEL' || name === 'UNLINK') return Buffer.from(`:${values.delete(key) ? 1 : 0}\r\n`);
    return Buffer.from(name === 'PING' ? '+PONG\r\n' : '+OK\r\n');
  }

  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let [unread, isSilent] = [Buffer.alloc(0), false];
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      for (;;) {
        const read = readCommand(unread);
        if (!read) return;
        unread = unread.subarray(read.length);
        commands.push(read.command);
        const fault = faultOf(read.command);
        isSilent ||= fault === 'hang';
        if (isSilent || fault === 'hang') continue;
        if (fault === 'reset') return void socket.destroy();
        if (fault === 'answer') socket.write(answer(read.command));
        else socket.write('raw' in fault ? fault.raw : `-${fault.error}\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get commands() {
      return commands;
    },
    get open() {
      return sockets.size;
    },
    get connections() {
      return connections;
    },
    setFault(fault = () => 'answer') {
      commands = [];
      faultOf = fault;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The first of the commands that have arrived; undefined where it is not there as a whole. */
function readCommand(bytes: Buffer): { command: RedisCommand; length: number } | undefined {
  let position = 0;
  const line = (): string | undefined => {
    const end = bytes.indexOf(CRLF, position);
    if (end < 0) return undefined;
    const text = bytes.toString('latin1', position, end);
    position = end + CRLF.length;
    return text;
  };
  const parts: Buffer[] = [];
  for (let left = Number(line()?.slice(1)); parts.length < left; ) {
    const size = Number(line()?.slice(1));
    if (Number.isNaN(size) || bytes.length < position + size + CRLF.length) return undefined;
    parts.push(bytes.subarray(position, position + size));
    position += size + CRLF.length;
  }
  const [name, ...parameters] = parts;
  return name && { command: { name: String(name).toUpperCase(), parameters }, length: position };
}
