/** The ffmpeg process: limits, aborts, hostile files and failures. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Container } from '../../../core/media/containers.js';
import { Ffmpeg, type Mp3Conversion, type SpeechConversion } from '../../../core/media/ffmpeg.js';
import { runFfmpeg as runProcess } from '../../../core/media/ffmpeg-process.js';
import { ffmpegPath, runFfmpeg, tone } from '../../support/audio/ffmpeg.js';
import { mp3Seconds } from '../../support/audio/mp3-length.js';
import { tonePcm } from '../../support/audio/sounds.js';
import { startOrigin } from '../../support/links/origin-server.js';
import { packageRoot } from '../../support/package-root.js';
import { rejection } from '../../support/rejection.js';
import { variants } from '../../support/runner/variants.js';

describe('ffmpeg', () => {
  let folder: string;
  const ffmpeg = new Ffmpeg(ffmpegPath ?? '');
  const at = (name: string) => path.join(folder, name);

  before(async function () {
    if (!ffmpegPath) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-ffmpeg-'));
  });

  after(() => folder && rm(folder, { recursive: true, force: true }));

  async function convert(name: string, container: Container, more: Partial<Mp3Conversion> = {}) {
    const chunks: Uint8Array[] = [];
    const report = await ffmpeg.toMp3({
      input: at(name),
      container,
      maxSeconds: 60,
      signal: new AbortController().signal,
      write: async (chunk) => void chunks.push(chunk),
      ...more,
    });
    return { report, mp3: Buffer.concat(chunks) };
  }

  /** A program in the place of ffmpeg. */
  async function pretend(script: string): Promise<string> {
    const file = at(`pretender-${Math.random()}`);
    await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
    return file;
  }

  it('does not blame the audio file for a killed process', async function () {
    if (process.platform === 'win32') this.skip();
    const run = { parameters: [], write: async () => {}, signal: new AbortController().signal };
    for (const signal of ['KILL', 'TERM']) {
      const killed = await rejection(runProcess({ ...run, path: await pretend(`kill -${signal} $$`) }));
      expect(killed, signal).to.include({ code: 'plugin_unavailable', retryable: true });
    }
    const crashed = await rejection(runProcess({ ...run, path: await pretend('kill -SEGV $$') }));
    expect(crashed).to.include({ code: 'audio_unavailable' });
  });

  it('kills no other process if it cannot start without file descriptors', async function () {
    if (process.platform === 'win32') this.skip();
    const script = `
      import { ChildProcess } from 'node:child_process';
      import { openSync } from 'node:fs';
      import { runFfmpeg } from ${JSON.stringify(pathToFileURL(`${packageRoot}/dist/core/media/ffmpeg-process.js`).href)};
      ChildProcess.prototype.kill = function () { console.log('it would end', this.pid); };
      try { for (;;) openSync('/dev/null'); } catch {}
      const run = { path: '/bin/true', parameters: [], write: async () => {}, signal: new AbortController().signal };
      const outcome = await runFfmpeg(run).catch(({ code }) => code);
      console.log(outcome);`;
    const node = `ulimit -n 100 && exec "$0" --input-type=module -e "$1"`;
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', node, process.execPath, script]);
    expect(stdout).to.equal('plugin_unavailable\n');
  });

  const sources: readonly (readonly [string, Container, readonly string[]])[] = [
    ['aac.m4a', 'mov', ['-c:a', 'aac', '-movflags', '+faststart']],
    ['late-index.mp4', 'mov', ['-c:a', 'aac']],
    ['opus.webm', 'matroska', ['-c:a', 'libopus']],
    ['vorbis.ogg', 'ogg', ['-c:a', 'libvorbis']],
    ['layer3.mp3', 'mp3', ['-c:a', 'libmp3lame']],
    ['adts.aac', 'aac', ['-c:a', 'aac']],
    ['flac.flac', 'flac', ['-c:a', 'flac']],
    ['pcm.wav', 'wav', ['-c:a', 'pcm_s16le', '-ar', '48000']],
    ['aac.ts', 'mpegts', ['-c:a', 'aac']],
  ];
  for (const [name, container, coding] of sources) {
    it(`makes an MP3 of the right length from ${name}`, async () => {
      await runFfmpeg(...tone(5), ...coding, at(name));
      const { report, mp3 } = await convert(name, container);
      expect(mp3Seconds(mp3)).to.be.closeTo(5, 0.2);
      expect(mp3.length / 16_000, 'one rate throughout').to.be.closeTo(mp3Seconds(mp3), 0.05);
      expect(report).to.include({ hasPictures: false, cutShort: false });
      if (name !== 'adts.aac') expect(report.declaredSeconds).to.be.closeTo(5, 0.2);
    });
  }

  it('omits cover images and everything beyond the cap', async () => {
    const picture = [
      '-f',
      'lavfi',
      '-i',
      'testsrc=duration=9:size=64x64:rate=5',
      '-c:v',
      'libx264',
      '-pix_fmt',
      'yuv420p',
    ];
    await runFfmpeg(...tone(9), ...picture, '-c:a', 'aac', at('film.mp4'));
    const { report, mp3 } = await convert('film.mp4', 'mov', { maxSeconds: 4 });
    expect(mp3Seconds(mp3)).to.be.closeTo(4, 0.1);
    expect(report).to.include({ hasPictures: true, cutShort: false });
  });

  it('distinguishes a cut source from a short one', async () => {
    await runFfmpeg(...tone(30), '-c:a', 'aac', '-movflags', '+faststart', at('whole.m4a'));
    const whole = await readFile(at('whole.m4a'));
    await writeFile(at('cut.m4a'), whole.subarray(0, whole.length / 2));
    const { report, mp3 } = await convert('cut.m4a', 'mov');
    expect(report.cutShort).to.equal(true);
    expect(report.declaredSeconds).to.be.closeTo(30, 0.1);
    expect(mp3Seconds(mp3)).to.be.below(20);
  });

  it('explains its absence in a message of the gateway', async () => {
    await runFfmpeg('-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x64', at('silent.mp4'));
    await runFfmpeg(...tone(1), '-c:a', 'wmav2', '-f', 'matroska', at('odd.mkv'));
    await writeFile(at('broken.mp4'), Buffer.from('\0\0\0\x20ftypisom and no more', 'latin1'));
    for (const [name, container, words] of [
      ['silent.mp4', 'mov', /no audio/],
      ['odd.mkv', 'matroska', /format that cannot be converted/],
      ['broken.mp4', 'mov', /damaged/],
    ] as const) {
      const failure = await rejection(convert(name, container));
      expect(failure, name).to.include({ code: 'audio_unavailable', retryable: false });
      expect((failure as Error).message)
        .to.match(words)
        .and.not.include(folder);
    }
  });

  it('reads no other file and reaches no host for any content of a file', async () => {
    await runFfmpeg(...tone(2), '-c:a', 'aac', at('canary.ts'));
    const canary = await startOrigin((_request, response) => response.end('canary'));
    const text = {
      'hls-net.mp4': `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${canary.origin}/a.ts\n#EXT-X-ENDLIST\n`,
      'hls-file.mp4': `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${at('canary.ts')}\n#EXT-X-ENDLIST\n`,
      'concat.mp4': `ffconcat version 1.0\nfile '${at('canary.ts')}'\n`,
      'dash.mp4': `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1"><BaseURL>${canary.origin}/a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`,
      'sdp.mp4': `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio ${canary.port} RTP/AVP 0\n`,
    };
    try {
      const prefixes = ['', '\0\0\0\x20ftypisom\0\0\x02\0isomiso2', 'ID3\x04\0\0\0\0\0\0'];
      const containers = ['mov', 'mp3', 'aac', 'mpegts', 'matroska'] as const;
      for (const [name, words] of Object.entries(text)) {
        for (const [turn, prefix] of prefixes.entries()) {
          await writeFile(at(name), Buffer.from(prefix + words, 'latin1'));
          // Every run has each content as each container.
          const few = containers.filter((_, index) => index % prefixes.length === turn);
          for (const container of variants(containers, (one) => few.includes(one))) {
            const failure = await rejection(convert(name, container));
            expect(failure, `${name} as ${container}`).to.include({ code: 'audio_unavailable' });
          }
        }
      }
      expect(canary.connections).to.equal(0);
      // The same file does reach it where ffmpeg is run without the lists.
      await writeFile(at('hls-net.mp4'), text['hls-net.mp4']);
      await runFfmpeg('-protocol_whitelist', 'file,http,tcp', '-f', 'hls', '-i', at('hls-net.mp4'), at('x.mp3')).catch(
        () => undefined,
      );
      expect(canary.connections).to.be.above(0);
    } finally {
      await canary.close();
    }
  });

  it('ends at once on abort and on a failing writer', async () => {
    await runFfmpeg(...tone(50), '-c:a', 'aac', at('long.m4a'));
    const stopping = new AbortController();
    const stopped = rejection(
      convert('long.m4a', 'mov', {
        signal: stopping.signal,
        write: async () => {
          stopping.abort(new Error('enough'));
          await new Promise((resolve) => setTimeout(resolve, 50));
        },
      }),
    );
    expect(await stopped).to.have.property('message', 'enough');
    const full = rejection(convert('long.m4a', 'mov', { write: () => Promise.reject(new Error('disk full')) }));
    expect(await full).to.have.property('message', 'disk full');
    expect(
      await rejection(convert('long.m4a', 'mov', { signal: AbortSignal.abort(new Error('late')) })),
    ).to.have.property('message', 'late');
  });

  it('runs two at a time, lets sixteen wait, and refuses more', async () => {
    await runFfmpeg(...tone(1), '-c:a', 'aac', at('one.m4a'));
    let busiest = 0;
    let busy = 0;
    const hold = Promise.withResolvers<void>();
    const running = Array.from({ length: 18 }, () => {
      let counted = false;
      return convert('one.m4a', 'mov', {
        write: async () => {
          if (!counted) busiest = Math.max(busiest, ++busy);
          counted = true;
          await hold.promise;
        },
      }).finally(() => (busy -= 1));
    });
    expect(await rejection(convert('one.m4a', 'mov'))).to.include({ code: 'queue_full' });
    hold.resolve();
    await Promise.all(running);
    expect(busiest).to.be.within(1, 2);
    expect((await convert('one.m4a', 'mov')).report.cutShort).to.equal(false);
  });

  it('reads the stated length, and whether the audio can be decoded', async () => {
    await runFfmpeg(...tone(90), '-c:a', 'libmp3lame', at('probed.mp3'));
    const { signal } = new AbortController();
    const report = await ffmpeg.probe({ input: at('probed.mp3'), container: 'mp3', signal });
    expect(report.declaredSeconds).to.be.closeTo(90, 0.2);
    await writeFile(at('noise.ogg'), Buffer.concat([Buffer.from('OggS'), Buffer.alloc(5_000, 7)]));
    const failure = await rejection(ffmpeg.probe({ input: at('noise.ogg'), container: 'ogg', signal }));
    expect(failure).to.include({ code: 'audio_unavailable' });
  });

  it('converts speech while it arrives, and ends with a failing source or without a reader', async () => {
    const { signal } = new AbortController();
    const pieces = async function* (count: number, error?: Error) {
      for (let index = 0; index < count; index += 1) yield tonePcm(1);
      if (error) throw error;
    };
    const convertSpeech = async (source: AsyncIterable<Uint8Array>, more: Partial<SpeechConversion> = {}) => {
      let length = 0;
      const write = async (chunk: Uint8Array) => {
        length += chunk.length;
      };
      await ffmpeg.convertSpeech({ source, from: 'pcm', to: 'mp3', write, signal, ...more });
      return length;
    };
    expect((await convertSpeech(pieces(3))) / 16_000).to.be.closeTo(3, 0.2);
    expect(await convertSpeech(pieces(3), { to: 'pcm' })).to.equal(3 * 48_000);
    expect(await rejection(convertSpeech(pieces(3, new Error('broke off'))))).to.have.property('message', 'broke off');
    const full = convertSpeech(pieces(30), { write: () => Promise.reject(new Error('full')) });
    expect(await rejection(full)).to.have.property('message', 'full');
    const stopping = new AbortController();
    const stalled = async function* () {
      yield tonePcm(1);
      setTimeout(() => stopping.abort(new Error('enough')), 20);
      await new Promise(() => undefined);
    };
    expect(await rejection(convertSpeech(stalled(), { signal: stopping.signal }))).to.have.property(
      'message',
      'enough',
    );
    // It ends before the source, which never does.
    const garbage = async function* () {
      yield Buffer.alloc(100_000, '<p>');
      yield Buffer.alloc(100_000, '<p>');
      await new Promise(() => undefined);
    };
    const ending = new AbortController();
    const hopeless = rejection(convertSpeech(garbage(), { from: 'wav', signal: ending.signal }));
    expect(await hopeless).to.include({ code: 'audio_unavailable' });
  });

  it('converts sixteen speeches at a time, lets sixteen wait, and refuses more', async () => {
    const { signal } = new AbortController();
    const held = Promise.withResolvers<void>();
    const source = async function* () {
      await held.promise;
      yield tonePcm(0.1);
    };
    const one = () =>
      ffmpeg.convertSpeech({ source: source(), from: 'pcm', to: 'pcm', write: async () => undefined, signal });
    const running = Array.from({ length: 32 }, one);
    expect(await rejection(one())).to.include({ code: 'queue_full' });
    held.resolve();
    await Promise.all(running);
  });

  it('reports a failed start like any other failure', async () => {
    for (const program of ['/nowhere/ffmpeg', folder]) {
      const missing = new Ffmpeg(program);
      const failure = await rejection(
        missing.toMp3({
          input: at('one.m4a'),
          container: 'mov',
          maxSeconds: 1,
          write: async () => undefined,
          signal: new AbortController().signal,
        }),
      );
      expect(failure).to.include({ code: 'plugin_unavailable' });
    }
  });
});
