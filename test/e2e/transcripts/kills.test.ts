/** Transcripts of links whose process is killed while the model works, and whose words several workers are asked for. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { sendRange } from '../../http/links/audio-origin.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';
import { SECONDS } from './spoken-platform.js';
import { MODEL } from './waiting-model.js';

/** Of a second. */
const PRICE = 0.01;
const CLIENTS = 8;

describeOnFirstStack('transcripts of links', (stack) => {
  let place: StackPlace;
  let folder: string;
  let origin: OriginServer;
  let environment: Record<string, string>;
  let gateway: GatewayProcess | undefined;

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-spoken-'));
    const file = path.join(folder, 'said.m4a');
    await runFfmpeg(...tone(SECONDS), '-c:a', 'aac', '-b:a', '32k', file);
    const sound = await readFile(file);
    origin = await startOrigin((request, response) => sendRange(sound, request, response));
    const pluginOf = (name: string) => path.join(packageRoot, 'dist', 'test', 'e2e', 'transcripts', `${name}.js`);
    const plugins = [
      { id: 'spoken', use: pluginOf('spoken-platform'), trustedOrigins: [origin.origin] },
      { id: 'waiting', use: pluginOf('waiting-model'), timeoutMs: 120_000 },
    ];
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins }));
    const prices = { currency: 'EUR', models: { [MODEL]: { second: PRICE } } };
    await writeFile(path.join(folder, 'prices.json'), JSON.stringify(prices));
    environment = {
      PLUGINS_CONFIG: path.join(folder, 'plugins.config.json'),
      PRICES_FILE: path.join(folder, 'prices.json'),
      TRANSCRIPT_WAIT_SECONDS: '1',
      SOUND_ORIGIN: origin.origin,
      CALLS_FILE: path.join(folder, 'calls'),
      GATE_FILE: path.join(folder, 'gate'),
    };
  });

  beforeEach(async () => {
    place = await stack.place();
    await rm(path.join(folder, 'gate'), { force: true });
    await writeFile(path.join(folder, 'calls'), '');
  });

  afterEach(async () => {
    await gateway?.kill();
    gateway = undefined;
    await rm(path.join(folder, 'data'), { recursive: true, force: true });
    await place.remove();
  });

  after(async () => {
    await origin?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const openGate = () => writeFile(path.join(folder, 'gate'), '');
  const calls = async () => (await readFile(path.join(folder, 'calls'), 'utf8')).split('\n').length - 1;

  async function start(more: Record<string, string> = {}): Promise<GatewayProcess> {
    const dataFolder = path.join(folder, 'data');
    gateway = await startGatewayProcess({ dataFolder, environment: { ...place.environment, ...environment, ...more } });
    return gateway;
  }

  async function wordsOf(from: GatewayProcess, key: string, id: number) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' };
    const body = JSON.stringify({ url: `https://invented.example/item/${id}`, include_transcript: true });
    const { status, json } = await from.request('/v1/extract', { method: 'POST', headers, body });
    expect(status, JSON.stringify(json)).to.equal(200);
    return json.data.transcript?.text ?? (json.limitations as string[]).find((note) => note.startsWith('transcript'));
  }

  /** Requests of the model, and what they cost. */
  async function chargesOf(from: GatewayProcess, key: string) {
    const { json } = await from.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const models = json.days.flatMap((day: { models: object[] }) => day.models);
    const { requests, cost } = models.find((one: { model: string }) => one.model === MODEL) ?? { requests: 0, cost: 0 };
    return { requests, cost };
  }

  it('survive kill -9 while the model works: none is lost, and none is charged twice', async () => {
    let running = await start();
    const { key } = await running.makeKey({ grants: ['extract', 'audio'] });
    expect(await wordsOf(running, key, 1)).to.match(/^transcript_pending: /);
    await until(async () => (await calls()) === 1);
    expect(await chargesOf(running, key)).to.deep.equal({ requests: 0, cost: 0 });
    await running.kill();
    await openGate();
    running = await start();
    // Nobody asks meanwhile: the job runs again by itself.
    await until(async () => (await calls()) === 2, 100);
    await until(async () => (await wordsOf(running, key, 1)) === 'Slow water.', 100);
    const charges = await chargesOf(running, key);
    expect(charges.requests).to.equal(1);
    expect(charges.cost).to.be.closeTo(SECONDS * PRICE, 0.003);
    await running.kill();
    running = await start();
    expect(await wordsOf(running, key, 1)).to.equal('Slow water.');
    expect([await calls(), await chargesOf(running, key)]).to.deep.equal([2, charges]);
  });

  it('are recognised and charged once if several workers are asked for them at once', async () => {
    const running = await start({ WORKERS: '2', TRANSCRIPT_WAIT_SECONDS: '20' });
    const { key } = await running.makeKey({ grants: ['extract', 'audio'] });
    await until(async () => (await running.request('/health')).json.checks.workers?.ok);
    const asked = Promise.all(Array.from({ length: CLIENTS }, () => wordsOf(running, key, 2)));
    await until(async () => (await calls()) > 0);
    await openGate();
    expect(await asked).to.deep.equal(Array(CLIENTS).fill('Slow water.'));
    expect(await calls()).to.equal(1);
    expect((await chargesOf(running, key)).requests).to.equal(1);
  });
});
