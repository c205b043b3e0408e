/** The ffmpeg service of plugins: samples, filters, caps and aborts. */

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { type AudioFilters, createGateway, definePlugin, type Gateway, type Need, type SamplesCall } from 'mediagate';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { rejection } from '../../support/rejection.js';

describe('ffmpeg for plugins', () => {
  let folder: string;
  let gateway: Gateway;
  let ffmpeg: AudioFilters;
  const call: SamplesCall = { filters: 'anull', rate: 8_000, maxSeconds: 60, signal: new AbortController().signal };

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-samples-'));
    [gateway, ffmpeg] = await open(['ffmpeg'], ffmpegPath);
  });

  after(async () => {
    await gateway?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** What a plugin that names these needs gets. */
  async function open(needs: readonly Need[], path?: string): Promise<[Gateway, AudioFilters]> {
    let given: AudioFilters | undefined;
    const plugin = definePlugin({
      name: 'invented',
      apiVersion: 1,
      summary: 'Keeps what it is given.',
      provides: [],
      wants: needs,
      setup(context) {
        given = context.ffmpeg;
        return {};
      },
    });
    const opened = await createGateway({ plugins: [{ use: plugin, required: true }], ffmpegPath: path });
    if (!given) throw new Error('the plugin was not set up');
    return [opened, given];
  }

  async function file(name: string, ...coding: readonly string[]) {
    const made = path.join(folder, name);
    await runFfmpeg(...tone(2), ...coding, made);
    return { path: made, size: (await stat(made)).size, contentType: 'audio/mpeg', filename: name };
  }

  async function collect(samples: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of samples) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  it('returns the samples of audio in any container and under any name', async () => {
    for (const [name, ...coding] of [
      ['a.mp3', '-c:a', 'libmp3lame', '-ac', '2'],
      ['late-index.mp4', '-c:a', 'aac'],
      ['c.webm', '-c:a', 'libopus'],
      ['d.wav', '-ar', '44100'],
    ] as const) {
      const audio = { ...(await file(name, ...coding)), contentType: 'text/plain' };
      const { length } = await collect(ffmpeg.samples({ ...call, audio }));
      expect(length / 2 / 8_000, name).to.be.closeTo(2, 0.1);
    }
  });

  it('filters audio, or makes it only from a filter', async () => {
    const audio = await file('e.wav');
    const silent = await collect(ffmpeg.samples({ ...call, audio, filters: 'volume=0' }));
    expect(silent.every((byte) => byte === 0)).to.equal(true);
    const made = await collect(
      ffmpeg.samples({ ...call, filters: 'sine=f=100[a];sine=f=200[b];[a][b]amix', maxSeconds: 1.5 }),
    );
    expect(made.length).to.equal(1.5 * 8_000 * 2);
    expect(made.some((byte) => byte !== 0)).to.equal(true);
  });

  it('cuts audio beyond the cap', async () => {
    const audio = await file('f.mp3');
    expect((await collect(ffmpeg.samples({ ...call, audio, maxSeconds: 0.5 }))).length).to.equal(8_000);
  });

  it('reads a file by its content, and refuses files that reference others', async () => {
    const list = path.join(folder, 'list.mp3');
    await writeFile(list, `#EXTM3U\n#EXTINF:1,\n${path.join(folder, 'a.mp3')}\n`);
    const audio = { path: list, size: 10, contentType: 'audio/mpeg', filename: 'sound.mp3' };
    const error = await rejection(collect(ffmpeg.samples({ ...call, audio })));
    expect(error).to.include({ code: 'audio_unavailable', retryable: false });
  });

  it('ends ffmpeg when the caller leaves, or stops reading', async () => {
    const leaving = new AbortController();
    const gone = new Error('the caller left');
    const left = rejection(
      collect(ffmpeg.samples({ ...call, filters: 'anoisesrc', maxSeconds: 1e6, signal: leaving.signal })),
    );
    await sleep(200);
    leaving.abort(gone);
    expect(await left).to.equal(gone);
    // More than may run at the same time.
    for (let count = 0; count < 20; count += 1) {
      for await (const _ of ffmpeg.samples({ ...call, filters: 'anoisesrc', maxSeconds: 1e6 })) break;
    }
  });

  it('is available to plugins that declare it, and reports its absence', async () => {
    const [undeclared, forbidden] = await open([], ffmpegPath);
    expect(forbidden.available).to.equal(false);
    expect(await rejection(collect(forbidden.samples(call)))).to.include({ code: 'plugin_unavailable' });
    const [without, absent] = await open(['ffmpeg']);
    expect(absent.available).to.equal(false);
    expect(await rejection(collect(absent.samples(call)))).to.include({ code: 'plugin_unavailable' });
    await Promise.all([undeclared.close(), without.close()]);
  });

  it('ends with its plugin', async () => {
    const [own, filters] = await open(['ffmpeg'], ffmpegPath);
    const reading = rejection(collect(filters.samples({ ...call, filters: 'anoisesrc', maxSeconds: 1e6 })));
    await sleep(200);
    await own.close();
    expect(await reading).to.include({ code: 'shutting_down' });
  });
});
