/** Responses over WebSocket: turns, memory, limits, and connections that break the protocol. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import type { TextCall } from 'mediagate';
import { dataEvents, responseObject } from '../../support/models/scripted-vendor.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { startScriptedApp } from './text-app.js';

type Message = { type: string; status?: number; error?: { code: string }; response?: { id: string } };

describe('responses over WebSocket', function () {
  this.timeout(60_000);
  let app: ListeningApp;
  let key: string;
  const bodies: Record<string, unknown>[] = [];
  let gate: Promise<unknown> = Promise.resolve();
  let count = 0;

  before(async () => {
    app = await startScriptedApp((call: TextCall) => {
      bodies.push(JSON.parse(Buffer.from(call.body as Uint8Array).toString()));
      count += 1;
      const response = { ...responseObject('completed', `Answer ${count}`), id: `resp_${count}` };
      const created = { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } };
      const delta = { type: 'response.output_text.delta', delta: 'Answer' };
      const done = { type: 'response.completed', response };
      return { pieces: [Buffer.from(dataEvents(created)), gate, Buffer.from(dataEvents(delta, done))] };
    });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(() => app?.close());
  beforeEach(() => {
    bodies.splice(0);
    gate = Promise.resolve();
  });

  /** A connected client, and what it received. */
  async function open(byKey = key) {
    const options = { headers: { authorization: `Bearer ${byKey}` } };
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v1/responses`, options as unknown as string[]);
    const messages: Message[] = [];
    let closed: { code: number; reason: string } | undefined;
    socket.addEventListener('message', ({ data }) => messages.push(JSON.parse(data)));
    socket.addEventListener('close', ({ code, reason }) => {
      closed = { code, reason };
    });
    await once(socket, 'open');
    const ended = (type = 'response.completed') => until(() => messages.find((one) => one.type === type));
    return {
      socket,
      messages,
      ended,
      create: (fields: object) => socket.send(JSON.stringify({ type: 'response.create', model: 'm-5.5', ...fields })),
      closed: () => until(() => closed),
    };
  }

  it('send each event of a turn as a message', async () => {
    const { create, messages, ended, socket } = await open();
    create({ input: 'Ahoy!' });
    await ended();
    expect(messages.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.output_text.delta',
      'response.completed',
    ]);
    expect(bodies[0]).to.deep.include({ stream: true, input: 'Ahoy!' });
    expect(bodies[0]).not.to.have.any.keys('type', 'generate', 'background');
    socket.close();
  });

  it('continue the last response without anything stored', async () => {
    const { create, messages, ended, socket } = await open();
    create({ input: 'One', store: false });
    const { response } = await ended();
    messages.splice(0);
    create({
      input: [{ type: 'message', role: 'user', content: 'Two' }],
      store: false,
      previous_response_id: response?.id,
    });
    await ended();
    expect(bodies[1]).not.to.have.any.keys('previous_response_id');
    const items = bodies[1]?.input as { role?: string; content?: unknown }[];
    expect(items.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
    messages.splice(0);
    create({ input: 'Three', store: false, previous_response_id: 'resp_of_another' });
    const refused = await ended('error');
    expect(refused.error?.code).to.equal('previous_response_not_found');
    socket.close();
  });

  it('are warmed up without the model', async () => {
    const { create, messages, ended, socket } = await open();
    create({ input: 'Tools', store: false, generate: false });
    const { response } = await ended();
    expect(bodies).to.deep.equal([]);
    messages.splice(0);
    create({ input: 'Ahoy!', store: false, previous_response_id: response?.id });
    await ended();
    expect(bodies[0]?.input).to.have.length(2);
    socket.close();
  });

  it('run one after the other, and are refused beyond eight', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const { create, messages, socket } = await open();
    for (let turn = 0; turn < 12; turn += 1) create({ input: `Turn ${turn}` });
    await until(() => messages.filter(({ error }) => error?.code === 'queue_full').length === 4);
    expect(bodies).to.have.length(1);
    resolve();
    await until(() => messages.filter(({ type }) => type === 'response.completed').length === 8);
    expect(bodies.map(({ input }) => input)).to.deep.equal(Array.from({ length: 8 }, (_, turn) => `Turn ${turn}`));
    socket.close();
  });

  it('are limited and counted as requests', async () => {
    const limited = await app.makeKey({ grants: ['text'], rpm: 2 });
    const { create, messages, socket } = await open(limited);
    for (let turn = 0; turn < 4; turn += 1) create({ input: 'Ahoy!' });
    await until(() => messages.filter(({ type }) => type === 'error').length === 2);
    const errors = messages.filter(({ type }) => type === 'error');
    for (const { status, error } of errors) {
      expect(status).to.equal(429);
      expect(error?.code).to.equal('rate_limit_exceeded');
    }
    await until(() => messages.filter(({ type }) => type === 'response.completed').length === 2);
    const counted = async () => {
      await app.state.admissions.flush();
      const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${limited}` } });
      return json.total.requests;
    };
    await until(async () => (await counted()) === 2, 100);
    socket.close();
  });

  it('answer errors of a turn, and go on', async () => {
    const { create, messages, ended, socket } = await open();
    socket.send('no JSON');
    socket.send('[]');
    socket.send(JSON.stringify({ type: 'session.update' }));
    create({ input: 'Ahoy!', model: 'no-such-model' });
    create({ input: 'Ahoy!' });
    await ended();
    const codes = messages.flatMap(({ error }) => (error ? [error.code] : []));
    expect(codes).to.deep.equal(['invalid_json', 'invalid_json', 'invalid_value', 'model_not_found']);
    socket.close();
  });

  it('end within five seconds of the end of their key', async () => {
    const own = await app.makeKey({ grants: ['text'] });
    const { closed, create, ended } = await open(own);
    create({ input: 'Ahoy!' });
    await ended();
    await app.state.keys.revoke(own.slice('sk-mg-'.length, 'sk-mg-'.length + 8), Date.now());
    const startedAt = performance.now();
    const { code } = await closed();
    expect(code).to.equal(1008);
    expect(performance.now() - startedAt).to.be.below(5_500);
  });

  it('end the turn of a client that leaves', async () => {
    gate = new Promise(() => undefined);
    const { create, messages, socket } = await open();
    create({ input: 'Ahoy!' });
    await until(() => messages.length);
    socket.close();
    await until(() =>
      app.log.some(
        ({ fields }) => fields?.route === '/v1/responses' && fields?.method === 'POST' && fields?.status === 200,
      ),
    );
  });

  it('are refused like any request: without a key, without the grant, without WebSocket', async () => {
    const get = (headers: Record<string, string>) => app.request('/v1/responses', { headers });
    expect((await get({})).status).to.equal(401);
    expect((await get({ authorization: `Bearer ${key}` })).status).to.equal(426);
    const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n';
    const ask = (authorization: string) =>
      app.raw(
        `GET /v1/responses HTTP/1.1\r\nHost: x\r\n${upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${authorization}\r\n`,
      );
    expect(await ask('')).to.match(/^HTTP\/1.1 401 /);
    const other = await app.makeKey({ grants: ['images'] });
    expect(await ask(`Authorization: Bearer ${other}\r\n`)).to.match(/^HTTP\/1.1 403 /);
  });

  describe('of clients that break the protocol', () => {
    async function raw(): Promise<Socket> {
      const socket = connect(app.port, '127.0.0.1');
      socket.write(
        `GET /v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
          `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${key}\r\n\r\n`,
      );
      const [head] = await once(socket, 'data');
      expect(head.toString()).to.match(/^HTTP\/1.1 101 .*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/s);
      return socket;
    }

    /** The code with which the server closes after these bytes. */
    async function codeAfter(bytes: Buffer): Promise<number> {
      const socket = await raw();
      socket.on('error', () => undefined);
      socket.write(bytes);
      const [frame] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return frame[0] === 0x88 ? frame.readUInt16BE(2) : 0;
    }

    const masked = (first: number, payload: Buffer) =>
      Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload]);

    it('closes with the code of the reason', async () => {
      expect(await codeAfter(Buffer.from([0x81, 0x01, 0x41]))).to.equal(1002);
      expect(await codeAfter(masked(0xc1, Buffer.from('A')))).to.equal(1002);
      expect(await codeAfter(masked(0x80, Buffer.from('A')))).to.equal(1002);
      expect(await codeAfter(masked(0x09, Buffer.from('A')))).to.equal(1002);
      expect(await codeAfter(masked(0x82, Buffer.from('A')))).to.equal(1003);
      expect(await codeAfter(masked(0x81, Buffer.from([0xff, 0xfe])))).to.equal(1007);
      const huge = Buffer.alloc(14);
      huge[0] = 0x81;
      huge[1] = 0xff;
      huge.writeBigUInt64BE(2n ** 40n, 2);
      expect(await codeAfter(huge)).to.equal(1009);
      expect(await codeAfter(masked(0x88, Buffer.from([0x03, 0xe8])))).to.equal(1000);
    });

    it('reads fragments and bytes one by one, and answers pings between them', async () => {
      const socket = await raw();
      const text = Buffer.from('{"type":"session.update"}');
      const frames = Buffer.concat([
        masked(0x01, text.subarray(0, 5)),
        masked(0x89, Buffer.from('hi')),
        masked(0x80, text.subarray(5)),
      ]);
      const received: Buffer[] = [];
      socket.on('data', (chunk) => received.push(chunk));
      for (const byte of frames) socket.write(Buffer.from([byte]));
      await until(() => Buffer.concat(received).includes('invalid_value'));
      const [first = 0, second = 0] = Buffer.concat(received);
      expect([first, second]).to.deep.equal([0x8a, 2]);
      socket.destroy();
    });
  });
});
