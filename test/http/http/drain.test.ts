/** Draining of the HTTP server: running requests, idle connections, the deadline. */

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { createHttpServer } from 'mediagate/server';
import { drain } from '../../../server/http/http-server.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from './listening-app.js';

const within = (timeoutMs: number, acceptMs = 0) => ({ acceptMs, timeoutMs, cutOff: () => undefined });

describe('draining', () => {
  let app: ListeningApp;
  let release: (() => void) | undefined;
  let began: Promise<void>;

  beforeEach(async () => {
    let begin = () => {};
    began = new Promise((resolve) => {
      begin = resolve;
    });
    app = await startApp({
      extractor: {
        extract: async ({ link }) => {
          const released = new Promise<void>((resolve) => {
            release = resolve;
          });
          begin();
          await released;
          return inventedExtraction(link.id);
        },
      },
    });
  });
  afterEach(async () => {
    release?.();
    await app.close();
  });

  it('finishes running requests, announces the end of connections, and accepts no more', async () => {
    const key = await app.makeKey();
    const running = app.extract(key, { url: LINK });
    await began;
    app.health.startDraining();
    const ready = await app.request('/health/ready');
    expect([ready.status, ready.json.status]).to.deep.equal([503, 'shutting_down']);
    expect(ready.headers.get('connection')).to.equal('close');
    const drained = drain(app.server, within(10_000));
    await until(() => !app.server.listening);
    await new Promise<void>((resolve, reject) => {
      const socket = connect(app.port, '127.0.0.1');
      socket.on('connect', () => reject(new Error('a new connection was accepted')));
      socket.on('error', () => resolve());
    });
    release?.();
    const answer = await running;
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('connection')).to.equal('close');
    expect(await drained).to.equal(true);
  });

  it('accepts requests for as long as balancers need to notice', async () => {
    app.health.startDraining();
    const drained = drain(app.server, within(10_000, 3_000));
    await turn();
    const { status, headers } = await app.request('/health/live');
    expect([status, headers.get('connection')]).to.deep.equal([200, 'close']);
    expect((await app.request('/health/ready')).status).to.equal(503);
    expect(await drained).to.equal(true);
    expect(app.server.listening).to.equal(false);
  });

  it('answers on connections that were idle, once, before it closes them', async () => {
    const socket = connect(app.port, '127.0.0.1').setEncoding('utf8');
    let heard = '';
    socket.on('data', (text: string) => {
      heard += text;
    });
    const closed = once(socket, 'close');
    const ask = () => socket.write('GET /health/live HTTP/1.1\r\nHost: gateway\r\n\r\n');
    ask();
    await until(() => heard.includes('keep-alive'));
    app.health.startDraining();
    const drained = drain(app.server, within(10_000));
    ask();
    await closed;
    expect(heard.match(/HTTP\/1\.1 200/g)).to.have.length(2);
    expect(heard).to.include('Connection: close');
    expect(await drained).to.equal(true);
  });

  it('does not wait for connections without a request', async () => {
    const sockets = ['', 'GET /health/live HTTP/1.1\r\nHost:'].map((start) => {
      const socket = connect(app.port, '127.0.0.1').on('error', () => undefined);
      socket.write(start);
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    // Less than the time that a header may take.
    expect(await drain(app.server, within(8_000))).to.equal(true);
    for (const socket of sockets) socket.destroy();
  });

  it('keeps serving when a client disconnects', async () => {
    const key = await app.makeKey();
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ url: LINK });
    const abandoned = app
      .request('/v1/extract', { method: 'POST', headers, body, signal: leaving.signal })
      .catch(() => 'gone');
    await began;
    leaving.abort();
    expect(await abandoned).to.equal('gone');
    const line = await until(() => app.log.find(({ fields }) => fields.route === '/v1/extract'));
    expect(line.fields).to.include({ status: 400, code: 'bad_request' });
    expect((await app.request('/health')).status).to.equal(200);
  });

  it('answers unfinished requests with an error that asks for a retry', async () => {
    const running = app.extract(await app.makeKey(), { url: LINK });
    await began;
    expect(await drain(app.server, within(100))).to.equal(false);
    const { status, headers, json } = await running;
    expect([status, json.error.code]).to.deep.equal([503, 'shutting_down']);
    expect([headers.get('retry-after'), headers.get('connection')]).to.deep.equal(['1', 'close']);
  });

  it('cuts off an answer that does not end in time', async () => {
    const server = createHttpServer({ handler: (_request, response) => void response.write('begun') });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const reading = answer.text().catch(() => 'cut off');
    expect(await drain(server, within(100))).to.equal(false);
    expect(await reading).to.equal('cut off');
  });
});
