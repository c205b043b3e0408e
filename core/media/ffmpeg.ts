import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { FfmpegCommand } from 'fluent-ffmpeg';
import pLimit from 'p-limit';
import { GatewayError } from '../errors.js';
import type { Container } from './container.js';
import { type ConversionReport, createReportReader } from './ffmpeg-report.js';

/** Bytes of MP3 a second: a constant rate, so that the length in bytes tells the length in time. */
export const MP3_BYTES_PER_SECOND = 16_000;

export interface Mp3Conversion {
  /** Absolute path of a file of ours; never a URL, and never a name that somebody else chose. */
  input: string;
  /** What the file has been found to be; it is read as that and as nothing else. */
  container: Container;
  /** Sound beyond so many seconds is left out. */
  maxSeconds: number;
  /** Takes the MP3 as it is made; the next piece waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends ffmpeg at once. */
  signal: AbortSignal;
}

/** Runs ffmpeg: a few at a time, each in a process that reads one file, writes to us, and can reach nothing else. */
export interface Ffmpeg {
  /**
   * Makes an MP3 (128 kbit/s, 44.1 kHz, stereo, no tags) of the first sound track.
   * @throws GatewayError `audio_unavailable` where there is no sound or it cannot be read, `queue_full`,
   *   `plugin_unavailable` where ffmpeg cannot be started; the signal's reason; what `write` throws.
   */
  toMp3(conversion: Mp3Conversion): Promise<ConversionReport>;
}

/** Sound is decoded and encoded on one core each; more at a time would only slow each other down. */
const AT_A_TIME = 2;
const MAX_WAITING = 16;
/** Decoders for sound. Those for pictures, which are by far the larger part of ffmpeg, are not even opened. */
const DECODERS =
  'aac,aac_latm,mp3,mp3float,mp2,mp2float,opus,libopus,vorbis,flac,alac,ac3,eac3,pcm_u8,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_mulaw,pcm_alaw';
/** What a program needs to start. Everything else in our environment is none of its business: some of it is secret. */
const ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot'];

/** @param path The executable. Nothing is loaded or started before the first conversion. */
export function createFfmpeg(path: string): Ffmpeg {
  const limit = pLimit(AT_A_TIME);
  return {
    async toMp3(conversion) {
      if (limit.pendingCount >= MAX_WAITING) {
        throw new GatewayError('queue_full', 'Too many sounds are waiting to be converted.');
      }
      return limit(() => convert(path, conversion));
    },
  };
}

async function convert(path: string, conversion: Mp3Conversion): Promise<ConversionReport> {
  conversion.signal.throwIfAborted();
  const child = start(path, await argumentsFor(conversion));
  const report = createReportReader();
  const kill = () => child.kill('SIGKILL');
  conversion.signal.addEventListener('abort', kill, { once: true });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  try {
    child.stderr?.on('data', (chunk: Buffer) => report.add(chunk));
    const [code] = await Promise.all([ended, passOn(child.stdout, conversion.write)]);
    conversion.signal.throwIfAborted();
    if (code !== 0) throw report.failure(code);
    return report.read();
  } catch (error) {
    kill();
    // Whoever removes the input next must find nobody reading it.
    const unstarted: unknown = await ended.then(
      () => undefined,
      (failure) => failure,
    );
    conversion.signal.throwIfAborted();
    throw unstarted ? notStarted(unstarted) : error;
  } finally {
    conversion.signal.removeEventListener('abort', kill);
  }
}

function start(path: string, parameters: readonly string[]) {
  const env = Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  try {
    return spawn(path, parameters, { env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  } catch (error) {
    throw notStarted(error);
  }
}

async function passOn(output: Readable, write: Mp3Conversion['write']): Promise<void> {
  for await (const chunk of output) await write(chunk);
}

/**
 * The command line, built by fluent-ffmpeg and run by us. Its own runner starts two more processes to ask what ffmpeg can
 * do, says "end" before the last bytes are out, and throws where nobody can catch it when the program cannot be started.
 */
async function argumentsFor({ input, container, maxSeconds }: Mp3Conversion): Promise<readonly string[]> {
  const { default: ffmpeg } = await import('fluent-ffmpeg');
  const command = ffmpeg()
    .input(input)
    .inputFormat(container)
    .inputOptions(['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'info'])
    .inputOptions(['-protocol_whitelist', 'file', '-format_whitelist', container, '-codec_whitelist', DECODERS])
    .noVideo()
    .audioCodec('libmp3lame')
    .audioBitrate(`${(MP3_BYTES_PER_SECOND * 8) / 1000}k`)
    .audioChannels(2)
    .audioFrequency(44_100)
    .duration(maxSeconds)
    .outputOptions(['-sn', '-dn', '-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1', '-threads', '1'])
    // Headers that are filled in at the end would differ from what was sent at the beginning.
    .outputOptions(['-write_xing', '0', '-id3v2_version', '0', '-fs', String((maxSeconds + 60) * MP3_BYTES_PER_SECOND)])
    // Every frame would be a write of its own: five times the work for us, and a slower ffmpeg.
    .outputOptions(['-flush_packets', '0'])
    .format('mp3')
    .output('pipe:1');
  return (command as FfmpegCommand & { _getArguments(): string[] })._getArguments();
}

function notStarted(cause: unknown): GatewayError {
  return new GatewayError('plugin_unavailable', 'ffmpeg could not be started.', { cause });
}
