/*
 * Lends the sessions of a PostgreSQL server to one connection after the other. A session of its own costs the server 25 to
 * 40 ms of processor time, most of it for memory that the new process touches; an app opens three or more, and a whole run
 * makes thousands of apps. Clients connect to another socket of the same kind. A session
 * - is lent again only to a client that starts with the same words: user, database and settings,
 * - is reset in between (`rollback`, `discard all`), as a new one would be,
 * - ends where its client is gone without saying so, or in the middle of a statement, as it would without this.
 */

import { chmod, mkdir } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import path from 'node:path';

const SOCKET = '.s.PGSQL.5432';
/** Statement of a session that nobody has. In small letters, which no other statement of ours has. */
export const RESET = 'discard all';
/** Sessions that nobody has, at most. */
const MAX_IDLE = 150;

/** In the first message of a client: the version of the protocol. Others ask to cancel a statement. */
const START = 196_608;
const HEADER_BYTES = 5;

interface Session {
  readonly server: Socket;
  /** What starts it; only clients that say the same get it. */
  readonly words: string;
  /** What the server has answered to that, up to its being ready. */
  greeting: Buffer;
  /** Statements that the server has not finished. */
  open: number;
  /** Who has it. */
  client: Socket | undefined;
}

/** Offers the sessions of the server whose socket is in that folder. @returns The folder of the other socket. */
export async function lendSessions(folder: string): Promise<string> {
  const idle: Session[] = [];
  const target = path.join(folder, SOCKET);
  const lent = path.join(folder, 'lent');
  await mkdir(lent);
  // Whoever runs the server removes its folder.
  await chmod(lent, 0o777);
  // The process ends when all that it waits for has ended, whoever is connected.
  const server = createServer((client) => {
    client.unref();
    client.on('error', () => client.destroy());
    client.once('data', (first: Buffer) => {
      client.pause();
      if (first.readUInt32BE(4) !== START) forward(client, target, first);
      else serve(client, { target, first, idle });
    });
  });
  server.listen(path.join(lent, SOCKET)).unref();
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  return lent;
}

/** Passes on what is no session. */
function forward(client: Socket, target: string, first: Buffer): void {
  const server = connect(target);
  server.on('error', () => client.destroy());
  server.write(first);
  client.pipe(server).pipe(client);
}

interface Lending {
  target: string;
  first: Buffer;
  idle: Session[];
}

/** Gives a client a session that is idle, or a new one. */
function serve(client: Socket, { target, first, idle }: Lending): void {
  const words = first.toString('latin1');
  const index = idle.findLastIndex((one) => one.words === words);
  const [found] = index === -1 ? [] : idle.splice(index, 1);
  if (found) {
    client.write(found.greeting);
    found.client = client;
    lend(client, found, idle);
    return;
  }
  const session: Session = { server: connect(target), words, greeting: Buffer.alloc(0), open: 0, client };
  const { server } = session;
  server.unref();
  server.on('error', () => server.destroy());
  server.on('close', () => {
    session.client?.destroy();
    const at = idle.indexOf(session);
    if (at !== -1) idle.splice(at, 1);
  });
  server.write(first);
  const isReady = createScanner();
  server.on('data', function greet(chunk: Buffer) {
    client.write(chunk);
    session.greeting = Buffer.concat([session.greeting, chunk]);
    if (!isReady(chunk).includes('Z')) return;
    server.off('data', greet);
    lend(client, session, idle);
  });
}

function lend(client: Socket, session: Session, idle: Session[]): void {
  const { server } = session;
  const [asked, answered] = [createScanner(), createScanner()];
  const end = () => server.destroy();
  if (client.destroyed) end();
  const take = (chunk: Buffer) => {
    session.open -= countOf(answered(chunk), 'Z');
    if (!client.write(chunk)) pauseUntilDrained(server, client);
  };
  server.on('data', take);
  client.once('close', end);
  client.on('data', (chunk: Buffer) => {
    const types = asked(chunk);
    const isOver = types.endsWith('X');
    session.open += countOf(types, 'Q') + countOf(types, 'S') + countOf(types, 'F');
    // The message that says so is the last one, and as short as one can be.
    const rest = isOver ? chunk.subarray(0, -HEADER_BYTES) : chunk;
    if (rest.length > 0 && !server.write(rest)) pauseUntilDrained(client, server);
    if (!isOver) return;
    server.off('data', take);
    client.off('close', end);
    client.end();
    session.client = undefined;
    if (session.open === 0) reset(session, idle);
    else server.destroy();
  });
  client.resume();
}

/** Makes a session as good as new, for the next one. */
function reset(session: Session, idle: Session[]): void {
  const { server } = session;
  const scan = createScanner();
  const statements = ['rollback', RESET];
  let left = statements.length;
  server.on('data', function read(chunk: Buffer) {
    const types = scan(chunk);
    if (types.includes('E')) server.destroy();
    left -= countOf(types, 'Z');
    if (left > 0) return;
    server.off('data', read);
    // Notices of a server that is idle are for nobody.
    server.resume();
    idle.push(session);
    if (idle.length > MAX_IDLE) idle.shift()?.server.destroy();
  });
  server.resume();
  for (const statement of statements) server.write(queryMessage(statement));
}

function queryMessage(statement: string): Buffer {
  const message = Buffer.alloc(HEADER_BYTES + statement.length + 1);
  message.write('Q');
  message.writeUInt32BE(message.length - 1, 1);
  message.write(statement, HEADER_BYTES);
  return message;
}

function pauseUntilDrained(from: Socket, to: Socket): void {
  from.pause();
  to.once('drain', () => from.resume());
}

function countOf(types: string, type: string): number {
  return types.split(type).length - 1;
}

/** Follows the messages of a stream: gives the types of those whose header ends in the next part of it. */
function createScanner(): (chunk: Buffer) => string {
  let header = Buffer.alloc(0);
  /** Of the message that has begun. */
  let left = 0;
  return (chunk) => {
    let types = '';
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at);
        left -= step;
        at += step;
        continue;
      }
      const missing = HEADER_BYTES - header.length;
      header = Buffer.concat([header, chunk.subarray(at, at + missing)]);
      at += missing;
      if (header.length < HEADER_BYTES) break;
      types += header.toString('latin1', 0, 1);
      // The length counts itself, and not the type.
      left = header.readUInt32BE(1) + 1 - HEADER_BYTES;
      header = Buffer.alloc(0);
    }
    return types;
  };
}
