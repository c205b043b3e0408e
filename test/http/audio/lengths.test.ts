/** The billed length of audio, measured or reported. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { CHANGING, HEARD, HEARING } from '../../support/audio/invented-audio.js';
import { namedVariants, variants } from '../../support/runner/variants.js';
import { type AudioApp, fileOf, startAudioApp, toForm } from './client.js';

/** Cents for a second. */
const prices = createPrices({ currency: 'USD', models: { [HEARING]: { second: 0.01 }, [CHANGING]: { second: 0.01 } } });
const SECONDS = 20;
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const CHANGER = '/v1/audio/voice-changer';

/** Writes a 32-bit number after a box's or a tag's name. */
function patch(bytes: Buffer, name: string, offset: number, value: number): void {
  const at = bytes.indexOf(name, 0, 'latin1');
  if (at < 0) throw new Error(`there is no ${name}`);
  bytes.writeUInt32BE(value, at + name.length + offset);
}

function oggChecksum(page: Uint8Array): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}

/** Makes a file state one second. */
const LIARS: Readonly<Record<string, (bytes: Buffer) => void>> = {
  mp3: (bytes) => patch(bytes, bytes.includes('Xing', 0, 'latin1') ? 'Xing' : 'Info', 4, 38),
  flac(bytes) {
    const samples = bytes.readBigUInt64BE(18);
    const rate = samples >> 44n;
    bytes.writeBigUInt64BE(((samples >> 36n) << 36n) | rate, 18);
  },
  m4a(bytes) {
    for (const box of ['mvhd', 'mdhd']) {
      const scale = bytes.readUInt32BE(bytes.indexOf(box, 0, 'latin1') + 16);
      patch(bytes, box, 16, scale);
      if (box === 'mvhd') patch(bytes, 'elst', 8, scale);
    }
  },
  ogg(bytes) {
    const page = bytes.lastIndexOf('OggS', undefined, 'latin1');
    bytes.writeBigUInt64LE(48_000n, page + 6);
    bytes.writeUInt32LE(0, page + 22);
    bytes.writeUInt32LE(oggChecksum(bytes.subarray(page)), page + 22);
  },
  webm: (bytes) => void bytes.writeDoubleBE(1_000, bytes.indexOf(Buffer.from([0x44, 0x89, 0x88])) + 3),
  wav(bytes) {
    const data = bytes.indexOf('data', 0, 'latin1');
    bytes.writeUInt32LE(16_000, data + 4);
    bytes.writeUInt32LE(data + 16_000, 4);
  },
};

describe('billed length of audio', () => {
  let app: AudioApp;
  const files = new Map<string, Buffer>();

  before(async function () {
    if (!ffmpegPath) this.skip();
    app = await startAudioApp({ prices });
    for (const [extension, lie] of namedVariants(LIARS, ['mp3', 'm4a', 'flac'])) {
      const file = await make(extension, ...tone(SECONDS));
      lie(file);
      files.set(extension, file);
    }
    files.set('two tracks', await make('m4a', ...tone(1), ...tone(SECONDS), '-map', '0:a', '-map', '1:a'));
    const chained = [await make('ogg', ...tone(1)), await make('ogg', ...tone(SECONDS))];
    files.set('chained', Buffer.concat(chained));
  });
  beforeEach(() => {
    app.audio.calls.splice(0);
    app.audio.transcribe = async () => ({ text: HEARD.text, segments: [] });
  });
  after(() => app?.close());

  async function make(extension: string, ...parameters: string[]): Promise<Buffer> {
    const file = path.join(app.folder, `made.${extension}`);
    const codec = extension === 'ogg' ? ['-c:a', 'libopus'] : [];
    const rate = extension === 'ogg' || extension === 'webm' ? '48000' : '8000';
    await runFfmpeg(...parameters, ...codec, '-ar', rate, '-ac', '1', file);
    return readFile(file);
  }

  async function makeKey(budget: string | undefined): Promise<string> {
    const key = await app.makeKey({ grants: ['audio'] });
    const amount = budget && parseBudget(budget);
    if (amount) {
      const subject = key.slice(6, 14);
      await app.state.budgets.change({ scope: 'key', subject, budgets: [amount], actor: 'operator:ann' });
      await app.keys.refresh();
    }
    return key;
  }

  function send(key: string, target: string, file: Uint8Array) {
    const body = toForm(
      target === CHANGER
        ? { audio: fileOf(file), model: CHANGING, voice: 'amy' }
        : { file: fileOf(file), model: HEARING },
    );
    return app.request(target, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body });
  }

  const costOf = ({ headers }: { headers: Headers }) => Number.parseFloat(headers.get('x-mediagate-cost') ?? '');

  it('measures the decoded audio, not its header: a budget of money refuses it', async () => {
    const key = await makeKey('0.15 USD/month');
    for (const [name, file] of files) {
      for (const target of variants([TRANSCRIPTIONS, CHANGER], (one) => one === TRANSCRIPTIONS || name === 'mp3')) {
        const { status, json } = await send(key, target, file);
        expect([status, json?.error?.code], `${name} ${target} ${json?.error?.message}`).to.deep.equal([
          429,
          'insufficient_quota',
        ]);
        const [, asked] = /this request may cost ([\d.]+) USD/.exec(json.error.message) ?? [];
        expect(Number(asked), name).to.be.closeTo(SECONDS / 100, 0.03);
      }
    }
    expect(app.audio.calls).to.have.length(0);
  });

  it('charges the measured length when the model reports none', async () => {
    for (const budget of ['20 USD/month', undefined]) {
      const key = await makeKey(budget);
      for (const [name, file] of variants([...files], ([one]) => budget !== undefined || one === 'mp3')) {
        const answer = await send(key, TRANSCRIPTIONS, file);
        expect(answer.status, name).to.equal(200);
        expect(costOf(answer), name).to.be.closeTo(SECONDS / 100, 0.03);
        expect(answer.json.usage.seconds, name).to.be.closeTo(SECONDS, 3);
      }
    }
  });

  it('does not measure when the model reports the length', async () => {
    app.audio.transcribe = async () => ({ text: HEARD.text, segments: [], usage: { seconds: 7 } });
    const answer = await send(await makeKey('20 USD/month'), TRANSCRIPTIONS, files.get('mp3') ?? Buffer.alloc(0));
    expect(costOf(answer)).to.equal(0.07);
  });

  it('refuses a file of which a decoder reads only the first part', async () => {
    const key = await makeKey('20 USD/month');
    const vorbis = path.join(app.folder, 'second.ogg');
    await runFfmpeg(...tone(SECONDS), '-c:a', 'libvorbis', vorbis);
    const file = Buffer.concat([await make('ogg', ...tone(1)), await readFile(vorbis)]);
    const { status, json } = await send(key, TRANSCRIPTIONS, file);
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'file']);
    expect(app.audio.calls).to.have.length(0);
  });

  it('accepts at most three hours', async () => {
    const file = path.join(app.folder, 'long.flac');
    // In the largest frames that there are: hundreds of thousands of small ones take ten times as long.
    const silence = 'anullsrc=r=8000:cl=mono:d=11000:n=65535';
    await runFfmpeg('-f', 'lavfi', '-i', silence, '-compression_level', '0', '-frame_size', '65535', file);
    const bytes = await readFile(file);
    LIARS.flac?.(bytes);
    const { status, json } = await send(await makeKey('1000 USD/month'), TRANSCRIPTIONS, bytes);
    expect([status, json.error.code]).to.deep.equal([400, 'invalid_value']);
    expect(json.error.message).to.equal('file is longer than 3 hours.');
  });
});
