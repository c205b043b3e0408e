/** Unexpected failures of a stream, before and after its first byte. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import { answerErrors } from '../../../server/http/error-response.js';
import { sendEvents } from '../../../server/http/event-stream.js';
import { App } from '../../../server/http/fast-path.js';
import type { RequestContext } from '../../../server/http/koa-app.js';

describe('unexpected failures of a stream', () => {
  it('answers with an error before the first byte, and cuts the stream after it', async () => {
    let events: () => AsyncGenerator<Uint8Array>;
    const app = new App();
    app.use(answerErrors(createRecordingLogger()));
    app.use((context) => {
      Object.assign(context.state, { requestId: 'req_1', startedAt: 0 });
      return sendEvents(context as RequestContext, { status: 200, headers: {} }, events());
    });
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const ask = () => fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    try {
      events = () => failing([]);
      const answer = await ask();
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
        500,
        'application/json; charset=utf-8',
      ]);
      expect(((await answer.json()) as { error: object }).error).to.include({ code: 'internal_error' });

      events = () => failing([Buffer.from('data: 1\n\n')]);
      const cut = await ask();
      expect(cut.status).to.equal(200);
      expect(await cut.text().catch((error: Error) => error)).to.be.instanceOf(Error);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

async function* failing(first: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* first;
  // What was told is on its way by then.
  if (first.length > 0) await sleep(20);
  throw new TypeError('nobody foresaw it');
}
