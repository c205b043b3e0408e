/** Messages over the pipe to the browser. */

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createPipeTransport } from '../../../core/browser/browser-connection.js';

function pipes() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const messages: object[] = [];
  const seen = { broken: 0, closed: 0 };
  const transport = createPipeTransport({
    input,
    output,
    onBroken() {
      seen.broken++;
    },
  });
  transport.onmessage = (message) => messages.push(message);
  transport.onclose = () => {
    seen.closed++;
  };
  return { input, output, transport, messages, seen };
}

describe('the pipe to the browser', () => {
  it('assembles messages from any pieces', async () => {
    const { output, messages } = pipes();
    const bytes = Buffer.from('{"id":1}\0{"text":"Grüße"}\0{"id":2}\0');
    for (const byte of bytes) output.write(Buffer.of(byte));
    output.end(bytes);
    await once(output, 'close');
    const each = [{ id: 1 }, { text: 'Grüße' }, { id: 2 }];
    expect(messages).to.deep.equal([...each, ...each]);
  });

  it('ends each message with a separator, and sends nothing into a closed pipe', async () => {
    const { input, transport } = pipes();
    transport.send({ id: 1 });
    transport.send({ id: 2 });
    expect(input.read().toString()).to.equal('{"id":1}\0{"id":2}\0');
    input.destroy();
    transport.send({ id: 3 });
  });

  it('closes a browser that sends unreadable or oversized messages, or whose reader throws', async () => {
    const cases: ((made: ReturnType<typeof pipes>) => void)[] = [
      ({ output }) => output.write('no json\0'),
      ({ output }) => {
        for (let mebibyte = 0; mebibyte < 65; mebibyte++) output.write(Buffer.alloc(1024 * 1024, 0x20));
      },
      ({ output, transport }) => {
        transport.onmessage = () => {
          throw new Error('not expected');
        };
        output.write('{}\0');
      },
    ];
    for (const say of cases) {
      const made = pipes();
      say(made);
      await once(made.output, 'close');
      expect(made.seen).to.deep.equal({ broken: 1, closed: 1 });
    }
  });
});
