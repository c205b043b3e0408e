import type { FfmpegCommand } from 'fluent-ffmpeg';
import pLimit from 'p-limit';
import type { SpeechFormat } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import { GatewayError } from '../runtime/index.js';
import { type Container, PCM_RATE, SPEECH_FORMATS } from './audio-formats.js';
import { type ConversionReport, runFfmpeg } from './ffmpeg-process.js';

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

export interface Probe {
  /** As of {@link Mp3Conversion}. */
  input: string;
  container: Container;
  signal: AbortSignal;
}

export interface SpeechConversion {
  /** Sound as it comes. */
  source: AsyncIterable<Uint8Array>;
  from: SpeechFormat;
  /** For `wav`: what goes into it, without the header. */
  to: SpeechFormat;
  /** Takes the sound as it is made; the next piece waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends ffmpeg at once. */
  signal: AbortSignal;
}

export interface SampleMaking {
  /** A file of ours and what it has been found to be. Default: none, and the filters begin with sources of their own. */
  source?: { input: string; container: Container };
  /** In ffmpeg's language, from one sound to one sound; `anull` leaves it as it is. */
  filters: string;
  /** Samples a second. */
  rate: number;
  /** Sound beyond so many seconds is left out. */
  maxSeconds: number;
  /** Takes 16 bits a sample, little-endian, of one channel; the next piece waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends ffmpeg at once. */
  signal: AbortSignal;
}

/** Runs ffmpeg: a few at a time, each in a process that reads one source, writes to us, and can reach nothing else. */
export interface Ffmpeg {
  /**
   * Makes an MP3 (128 kbit/s, 44.1 kHz, stereo, no tags) of the first sound track.
   * @throws GatewayError `audio_unavailable` where there is no sound or it cannot be read, `queue_full`,
   *   `plugin_unavailable` where ffmpeg cannot be started; the signal's reason; what `write` throws.
   */
  toMp3(conversion: Mp3Conversion): Promise<ConversionReport>;
  /**
   * Reads the beginning of a file.
   * @throws GatewayError as {@link toMp3}.
   */
  probe(probe: Probe): Promise<ConversionReport>;
  /**
   * Brings a sound into another format while it comes.
   * @throws GatewayError as {@link toMp3}; what the source throws.
   */
  convertSpeech(conversion: SpeechConversion): Promise<ConversionReport>;
  /**
   * Makes samples, of a file or by filters alone.
   * @throws GatewayError as {@link toMp3}.
   */
  makeSamples(making: SampleMaking): Promise<ConversionReport>;
}

/** Sound is decoded and encoded on one core each; more at a time would only slow each other down. */
const FILES_AT_A_TIME = 2;
/** Speech comes hardly faster than it is spoken: most of the time, ffmpeg waits for it. */
const STREAMS_AT_A_TIME = 16;
const MAX_WAITING = 16;
/** Decoders for sound. Those for pictures, which are by far the larger part of ffmpeg, are not even opened. */
const DECODERS =
  'aac,aac_latm,mp3,mp3float,mp2,mp2float,opus,libopus,vorbis,flac,alac,ac3,eac3,pcm_u8,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_mulaw,pcm_alaw';
/** Sound of a file that is decoded to see whether it can be. */
const PROBED_SECONDS = 1;
/** What is read of a stream before its sound is converted; of bare samples there is nothing to find out. */
const PROBED_BYTES = 32_768;
const QUIET = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'info'];
const FIRST_SOUND = ['-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1', '-threads', '1'];

/** @param path The executable. Nothing is loaded or started before the first conversion. */
export function createFfmpeg(path: string): Ffmpeg {
  const files = createQueue(FILES_AT_A_TIME);
  const streams = createQueue(STREAMS_AT_A_TIME);
  return {
    toMp3: (conversion) =>
      files(async () => runFfmpeg({ ...conversion, path, parameters: await mp3Parameters(conversion) })),
    probe: (probe) =>
      files(async () =>
        runFfmpeg({
          path,
          parameters: await probeParameters(probe),
          write: async () => undefined,
          signal: probe.signal,
        }),
      ),
    convertSpeech: ({ source, ...conversion }) =>
      streams(async () =>
        runFfmpeg({ ...conversion, path, parameters: await speechParameters(conversion), feed: source }),
      ),
    makeSamples: (making) =>
      streams(async () => runFfmpeg({ ...making, path, parameters: await sampleParameters(making) })),
  };
}

function createQueue(atATime: number) {
  const limit = pLimit(atATime);
  return async (run: () => Promise<ConversionReport>): Promise<ConversionReport> => {
    if (limit.pendingCount < MAX_WAITING) return limit(() => inSpan({ name: 'ffmpeg' }, run));
    throw new GatewayError('queue_full', 'Too many sounds are waiting to be converted.');
  };
}

/**
 * Command lines are built by fluent-ffmpeg and run by us. Its own runner starts two more processes to ask what ffmpeg can
 * do, says "end" before the last bytes are out, and throws where nobody can catch it when the program cannot be started.
 */
async function createCommand(): Promise<FfmpegCommand & { _getArguments(): string[] }> {
  const { default: ffmpeg } = await import('fluent-ffmpeg');
  return ffmpeg() as FfmpegCommand & { _getArguments(): string[] };
}

/** What a file of somebody else may make ffmpeg open: nothing but itself, as what it was found to be. */
function onlyThisFile(container: Container): string[] {
  return ['-protocol_whitelist', 'file', '-format_whitelist', container, '-codec_whitelist', DECODERS];
}

async function mp3Parameters({ input, container, maxSeconds }: Mp3Conversion): Promise<readonly string[]> {
  return (
    (await createCommand())
      .input(input)
      .inputFormat(container)
      .inputOptions(QUIET)
      .inputOptions(onlyThisFile(container))
      .noVideo()
      .audioCodec('libmp3lame')
      .audioBitrate(`${(MP3_BYTES_PER_SECOND * 8) / 1000}k`)
      .audioChannels(2)
      .audioFrequency(44_100)
      .duration(maxSeconds)
      .outputOptions(['-sn', '-dn', ...FIRST_SOUND])
      // Headers that are filled in at the end would differ from what was sent at the beginning.
      .outputOptions([
        '-write_xing',
        '0',
        '-id3v2_version',
        '0',
        '-fs',
        String((maxSeconds + 60) * MP3_BYTES_PER_SECOND),
      ])
      // Every frame would be a write of its own: five times the work for us, and a slower ffmpeg.
      .outputOptions(['-flush_packets', '0'])
      .format('mp3')
      .output('pipe:1')
      ._getArguments()
  );
}

async function probeParameters({ input, container }: Probe): Promise<readonly string[]> {
  return (await createCommand())
    .input(input)
    .inputFormat(container)
    .inputOptions(QUIET)
    .inputOptions(onlyThisFile(container))
    .noVideo()
    .duration(PROBED_SECONDS)
    .outputOptions(['-sn', '-dn', ...FIRST_SOUND])
    .format('null')
    .output('-')
    ._getArguments();
}

async function speechParameters({ from, to }: Pick<SpeechConversion, 'from' | 'to'>): Promise<readonly string[]> {
  const { demuxer } = SPEECH_FORMATS[from];
  const samples =
    from === 'pcm' ? ['-ar', `${PCM_RATE}`, '-ac', '1', '-probesize', '32'] : ['-probesize', PROBED_BYTES];
  return (
    (await createCommand())
      .input('pipe:0')
      .inputFormat(demuxer)
      .inputOptions(QUIET)
      .inputOptions([...samples.map(String), '-analyzeduration', '0'])
      .inputOptions(['-protocol_whitelist', 'pipe', '-format_whitelist', demuxer, '-codec_whitelist', DECODERS])
      .noVideo()
      .outputOptions([...FIRST_SOUND, ...SPEECH_FORMATS[to].output])
      // It is listened to while it is made.
      .outputOptions(['-flush_packets', '1'])
      .output('pipe:1')
      ._getArguments()
  );
}

async function sampleParameters({ source, filters, rate, maxSeconds }: SampleMaking): Promise<readonly string[]> {
  const command = await createCommand();
  if (source) {
    command.input(source.input).inputFormat(source.container).inputOptions(QUIET);
    command.inputOptions(onlyThisFile(source.container)).noVideo().audioFilters(filters).outputOptions(['-sn', '-dn']);
  } else {
    command.input(filters).inputFormat('lavfi').inputOptions(QUIET);
    command.inputOptions(['-protocol_whitelist', 'pipe', '-format_whitelist', 'lavfi']);
  }
  return command
    .audioCodec('pcm_s16le')
    .audioChannels(1)
    .audioFrequency(rate)
    .duration(maxSeconds)
    .outputOptions(FIRST_SOUND)
    .format('s16le')
    .output('pipe:1')
    ._getArguments();
}
