/** Repeated speech requests of killed gateways. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type OpenaiAudioUpstream, startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const HELLO = { model: 'tts_v3', input: 'Hello there.', voice: 'alloy', response_format: 'pcm' };

interface Heard {
  status: number;
  replayed: boolean;
  bytes: Buffer;
}

describeOnStacks('a repeated speech request of killed gateways', (stack) => {
  let place: StackPlace;
  let dataFolder: string;
  let upstream: OpenaiAudioUpstream;
  let nodes: GatewayProcess[];
  let key: string;

  beforeEach(async () => {
    nodes = [];
    upstream = await startOpenaiAudioUpstream();
    place = await stack.place();
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-repeated-'));
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await upstream.close();
    await place.remove();
    await rm(dataFolder, { recursive: true, force: true });
  });

  async function start(): Promise<GatewayProcess> {
    const speech = { SPEECH_UPSTREAM_URL: upstream.baseUrl };
    const node = await startGatewayProcess({ dataFolder, environment: { ...place.environment, ...speech } });
    nodes.push(node);
    return node;
  }

  async function speak(node: GatewayProcess, signal?: AbortSignal): Promise<Heard> {
    const response = await fetch(`${node.url}/v1/audio/speech`, {
      method: 'POST',
      ...(signal && { signal }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'one' },
      body: JSON.stringify(HELLO),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, replayed: response.headers.get('idempotency-replayed') === 'true', bytes };
  }

  async function makeKey(node: GatewayProcess): Promise<void> {
    ({ key } = await node.makeKey({ grants: ['audio'] }));
  }

  it('is made again by the next process, once', async () => {
    const first = await start();
    await makeKey(first);
    upstream.behave(() => ({ does: 'stall' }));
    const cut = speak(first).catch((error: Error) => error);
    await until(() => upstream.requests.length === 1);
    await first.kill();
    expect(await cut).to.be.instanceOf(Error);
    upstream.reset();
    const second = await start();
    const made = await speak(second);
    expect([made.status, made.replayed]).to.deep.equal([200, false]);
    const again = await speak(second);
    expect([again.status, again.replayed, again.bytes.equals(made.bytes)]).to.deep.equal([200, true, true]);
    expect(upstream.requests).to.have.length(1);
    await second.kill();
    // What was kept is there for those who come after.
    expect((await speak(await start())).bytes.equals(made.bytes)).to.equal(true);
    expect(upstream.requests).to.have.length(1);
  });

  it('waits for another process, and is made again if that process dies', async () => {
    const [first, second] = [await start(), await start()];
    await makeKey(first);
    upstream.behave(() => ({ does: 'stall' }));
    const cut = speak(first).catch((error: Error) => error);
    await until(() => upstream.requests.length === 1);
    upstream.behave(() => ({ does: 'work' }));
    const waiting = speak(second);
    // For as long as it takes to look twice: it is not to ask the model while the first one lives.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(upstream.requests).to.have.length(1);
    await first.kill();
    expect(await cut).to.be.instanceOf(Error);
    const made = await waiting;
    expect([made.status, made.replayed]).to.deep.equal([200, false]);
    expect(upstream.requests).to.have.length(2);
  });

  it('is finished by a process that stops, without a client', async () => {
    const first = await start();
    await makeKey(first);
    upstream.behave(() => ({ does: 'work', pieceBytes: 16_000, pauseMs: 300 }));
    const leaving = new AbortController();
    const left = speak(first, leaving.signal).catch((error: Error) => error);
    await until(() => upstream.requests.length === 1);
    leaving.abort();
    expect(await left).to.be.instanceOf(Error);
    expect(await first.stop()).to.equal(0);
    const heard = await speak(await start());
    expect([heard.status, heard.replayed]).to.deep.equal([200, true]);
    expect(upstream.requests).to.have.length(1);
  });

  it('is answered by another process after the first has made it', async () => {
    const [first, second] = [await start(), await start()];
    await makeKey(first);
    upstream.behave(() => ({ does: 'work', pieceBytes: 16_000, pauseMs: 300 }));
    const making = speak(first);
    await until(() => upstream.requests.length === 1);
    const heard = await speak(second);
    const made = await making;
    expect([heard.status, heard.replayed, heard.bytes.equals(made.bytes)]).to.deep.equal([200, true, true]);
    expect(upstream.requests).to.have.length(1);
  });
});
