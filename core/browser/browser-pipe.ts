import type { Readable, Writable } from 'node:stream';

/** What playwright-core speaks the DevTools protocol through. */
export interface ProtocolTransport {
  send(message: object): void;
  close(): void;
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
}

/** A page decides how large an answer of the browser is; beyond this the browser is given up. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const NUL = 0;

export interface PipeEnds {
  input: Writable;
  output: Readable;
  /** Called where the browser says too much, or what nobody understands: it is to be given up then. */
  onBroken(): void;
}

/** JSON messages over two pipes, each ended by a NUL, as `--remote-debugging-pipe` has them. */
export function createPipeTransport({ input, output, onBroken }: PipeEnds): ProtocolTransport {
  let parts: Buffer[] = [];
  let length = 0;

  const transport: ProtocolTransport = {
    send(message) {
      if (!input.destroyed) input.write(`${JSON.stringify(message)}\0`);
    },
    close: () => input.end(),
  };
  const take = (part: Buffer) => {
    parts.push(part);
    length += part.length;
    if (length > MAX_MESSAGE_BYTES) throw new RangeError('the browser says too much');
  };
  const read = (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(NUL); end !== -1; end = chunk.indexOf(NUL, start)) {
      take(chunk.subarray(start, end));
      const message: object = JSON.parse(Buffer.concat(parts).toString('utf8'));
      parts = [];
      length = 0;
      start = end + 1;
      transport.onmessage?.(message);
    }
    if (start < chunk.length) take(chunk.subarray(start));
  };
  output.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      // Thrown from here it would end the gateway; a page may have got the better of its browser.
      parts = [];
      output.destroy();
      onBroken();
    }
  });
  output.once('close', () => transport.onclose?.());
  return transport;
}
