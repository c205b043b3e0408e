/*
 * A WebSocket connection of a server (RFC 6455), for text messages: handshake, frames, fragments, ping and close. Each
 * message has a maximum of bytes. A client that breaks the protocol is closed with the code of the reason: 1002 for a
 * broken frame, 1003 for binary messages, 1007 for text that is not UTF-8, 1009 for a message that is too large. A ping
 * every 30 seconds finds clients that are gone. There are no extensions, so nothing is compressed.
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Of the RFC, for the answer to the key of the client. */
const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const PING_MS = 30_000;
/** For the client to answer a close. */
const CLOSE_MS = 2_000;
const MAX_REASON_BYTES = 120;
/** Bytes that a client has not read. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

export interface WebSocketOptions {
  /** Maximum bytes of a message. */
  maxBytes: number;
  message(text: string): void;
  /** The connection has ended. */
  closed(): void;
}

/** Whether a request asks for a WebSocket of the version that there is. */
export function asksForWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    KEY.test(headers['sec-websocket-key'] ?? '')
  );
}

/** A connection after its handshake. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #timer: NodeJS.Timeout;
  /** Bytes that were not read yet, in pieces until there are as many as the next frame has. */
  #pieces: Buffer[];
  #pieceBytes: number;
  #needed = 2;
  #received: Buffer = Buffer.alloc(0);
  /** Of a message whose last fragment has not come. */
  #fragments: Buffer[] | undefined;
  #fragmentBytes = 0;
  #isClosing = false;
  #isAlive = true;

  /**
   * Answers the handshake, and reads from then on.
   * @param head Bytes that came with the request.
   */
  constructor(request: IncomingMessage, socket: Duplex, head: Buffer, options: WebSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#pieces = [head];
    this.#pieceBytes = head.length;
    const key = request.headers['sec-websocket-key'] ?? '';
    const accept = createHash('sha1').update(`${key}${MAGIC}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    this.#timer = setInterval(() => this.#ping(), PING_MS);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.once('close', () => {
      clearInterval(this.#timer);
      options.closed();
    });
    if (head.length > 0) setImmediate(() => this.#read(Buffer.alloc(0)));
    socket.resume();
  }

  get isOpen(): boolean {
    return !this.#isClosing && !this.#socket.destroyed;
  }

  /** Sends a text message. A client that does not read is disconnected. */
  send(text: string): void {
    if (!this.isOpen) return;
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy();
    else this.#write(TEXT, Buffer.from(text));
  }

  /** Ends the connection. @param code Of RFC 6455, 7.4. */
  close(code: number, reason = ''): void {
    if (!this.isOpen) return;
    const words = Buffer.from(reason).subarray(0, MAX_REASON_BYTES);
    const payload = Buffer.alloc(2 + words.length);
    payload.writeUInt16BE(code);
    words.copy(payload, 2);
    this.#write(CLOSE, payload);
    this.#isClosing = true;
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
    this.#socket.end();
  }

  #ping(): void {
    if (!this.#isAlive) {
      this.#socket.destroy();
      return;
    }
    this.#isAlive = false;
    if (this.isOpen) this.#write(PING, Buffer.alloc(0));
  }

  #write(opcode: number, payload: Buffer): void {
    const { length } = payload;
    const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
    const head = Buffer.alloc(2 + extended);
    head[0] = 0x80 | opcode;
    head[1] = extended === 0 ? length : extended === 2 ? 126 : 127;
    if (extended === 2) head.writeUInt16BE(length, 2);
    if (extended === 8) head.writeBigUInt64BE(BigInt(length), 2);
    this.#socket.write(Buffer.concat([head, payload]));
  }

  #read(chunk: Buffer): void {
    this.#isAlive = true;
    this.#pieces.push(chunk);
    this.#pieceBytes += chunk.length;
    if (this.#pieceBytes < this.#needed) return;
    this.#received = Buffer.concat(this.#pieces);
    while (this.isOpen) {
      const frame = this.#nextFrame();
      if (!frame) break;
      this.#take(frame);
    }
    this.#pieces = [this.#received];
    this.#pieceBytes = this.#received.length;
  }

  /** The next whole frame, without its mask. Undefined if it has not come. */
  #nextFrame(): Frame | undefined {
    const bytes = this.#received;
    this.#needed = 2;
    if (bytes.length < 2) return undefined;
    const [first = 0, second = 0] = bytes;
    const opcode = first & 0x0f;
    const short = second & 0x7f;
    // A client masks every frame; the other bits belong to extensions.
    if ((first & 0x70) !== 0 || (second & 0x80) === 0) return this.#fail(1002, 'A frame breaks the protocol.');
    const extended = short < 126 ? 0 : short === 126 ? 2 : 8;
    const start = 2 + extended + 4;
    this.#needed = start;
    if (bytes.length < start) return undefined;
    const length = extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (opcode >= CLOSE && (length > 125 || (first & 0x80) === 0))
      return this.#fail(1002, 'A control frame is too long.');
    if (this.#fragmentBytes + length > this.#options.maxBytes) return this.#fail(1009, 'The message is too large.');
    this.#needed = start + length;
    if (bytes.length < start + length) return undefined;
    const mask = bytes.subarray(start - 4, start);
    const payload = Buffer.from(bytes.subarray(start, start + length));
    for (let index = 0; index < length; index += 1) payload[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
    this.#received = bytes.subarray(start + length);
    return { opcode, isLast: (first & 0x80) !== 0, payload };
  }

  #fail(code: number, reason: string): undefined {
    this.close(code, reason);
    return undefined;
  }

  #take({ opcode, isLast, payload }: Frame): void {
    if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE) this.close(1000);
    else if (opcode === TEXT || opcode === CONTINUATION) this.#takeText(opcode, isLast, payload);
    else if (opcode !== PONG) this.close(opcode === 2 ? 1003 : 1002, 'Only text messages are accepted.');
  }

  #takeText(opcode: number, isLast: boolean, payload: Buffer): void {
    if ((opcode === TEXT) !== (this.#fragments === undefined)) {
      this.close(1002, 'Fragments are out of order.');
      return;
    }
    this.#fragments ??= [];
    this.#fragments.push(payload);
    this.#fragmentBytes += payload.length;
    if (!isLast) return;
    const bytes = Buffer.concat(this.#fragments);
    this.#fragments = undefined;
    this.#fragmentBytes = 0;
    const text = decode(bytes);
    if (text === undefined) this.close(1007, 'The message is not UTF-8.');
    else this.#options.message(text);
  }
}

interface Frame {
  opcode: number;
  isLast: boolean;
  payload: Buffer;
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
