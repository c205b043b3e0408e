/*
 * The ffmpeg service: converts to MP3, probes, measures, converts speech while it streams, makes samples, merges and cuts
 * videos. Each
 * process reads one source as one detected container and can open nothing else: protocols, formats and decoders are on
 * allow-lists, and a path is always a file of ours. Two conversions of files, two measurements and sixteen streams run
 * at once; 16 of each wait, and further ones get `queue_full`. Measuring stops at the maximum, so a file of years
 * costs no more than one of hours. Command lines come from fluent-ffmpeg, but its runner is not used.
 */

import pLimit from 'p-limit';
import type { SpeechFormat } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { PCM_RATE, type SampleRequest, SPEECH_FORMATS } from './audio-formats.js';
import { LengthCounter, lengthOptions } from './audio-length.js';
import type { Container } from './containers.js';
import { addExactCut, type ExactCutRequest } from './ffmpeg-cut.js';
import {
  addFirstPacket,
  addMerge,
  feedsOf,
  type MergedInput,
  type MergeRequest,
  readFirstTime,
} from './ffmpeg-merge.js';
import { type ConversionReport, type FfmpegRun, runFfmpeg } from './ffmpeg-process.js';
import type { FfmpegCommand } from './fluent-ffmpeg.js';
import { DurationWriter } from './mp4-boxes.js';

/** Bytes of MP3 per second: a constant rate, so that the duration follows from the length. */
export const MP3_BYTES_PER_SECOND = 16_000;

export interface Mp3Conversion {
  /** Absolute path of a file of ours; never a URL, and never a foreign name. */
  input: string;
  /** The detected container; the file is read only as that. */
  container: Container;
  /** Audio after this many seconds is omitted. */
  maxSeconds: number;
  /** Receives the MP3 as it is made; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills ffmpeg at once. */
  signal: AbortSignal;
}

export interface Probe {
  /** Absolute path of a file of ours. */
  input: string;
  container: Container;
  signal: AbortSignal;
}

export interface Measurement extends Probe {
  /** Decoding ends soon after this length. */
  maxSeconds: number;
}

export interface SpeechConversion {
  /** A stream of audio. */
  source: AsyncIterable<Uint8Array>;
  from: SpeechFormat;
  /** Format of the result; for `wav`, its content without the header. */
  to: SpeechFormat;
  /** Receives the audio as it is made; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills ffmpeg at once. */
  signal: AbortSignal;
}

export interface FirstTime {
  /** Of the first picture, in seconds by the clock of the source. Undefined if there is none. */
  time: number | undefined;
  /** Stated length of the source. */
  seconds: number | undefined;
}

/** Each conversion uses one core; more at a time would only slow each other down. */
const FILES_AT_A_TIME = 2;
/** Speech arrives hardly faster than real time: ffmpeg mostly waits for it. */
const STREAMS_AT_A_TIME = 16;
/** Uploads that are measured at once, because their length is paid for. */
const LENGTHS_AT_A_TIME = 2;
const MAX_WAITING = 16;
/** Merging copies at the pace of the network. Each viewer may take hours, so none waits for another. */
const MERGES_AT_A_TIME = 16;
/** Audio decoders. Those for pictures, which are most of ffmpeg, are not even opened. */
const DECODERS =
  'aac,aac_latm,mp3,mp3float,mp2,mp2float,opus,libopus,vorbis,flac,alac,ac3,eac3,pcm_u8,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_mulaw,pcm_alaw';
/** Seconds of audio that are decoded to check whether a file is valid. */
const PROBED_SECONDS = 1;
/** Bytes of a stream that are probed before the conversion; raw samples need none. */
const PROBED_BYTES = 32_768;
const QUIET = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'info'];
const INPUT_OPTIONS = [...QUIET, '-codec_whitelist', DECODERS];
const FIRST_SOUND = ['-map', '0:a:0', '-map_metadata', '-1', '-map_chapters', '-1', '-threads', '1'];

/**
 * Runs ffmpeg with a limit of concurrent processes. Each process reads one source, writes to us, and can access nothing
 * else.
 * @param path The executable. Nothing is loaded or started before the first conversion.
 */
export class Ffmpeg {
  readonly #path: string;
  readonly #files = createQueue(FILES_AT_A_TIME);
  readonly #streams = createQueue(STREAMS_AT_A_TIME);
  readonly #lengths = createQueue(LENGTHS_AT_A_TIME);
  readonly #merges = createQueue(MERGES_AT_A_TIME, 0);

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Makes an MP3 (128 kbit/s, 44.1 kHz, stereo, no tags) of the first audio track.
   * @throws GatewayError `audio_unavailable` if there is no audio or it cannot be read, `queue_full`,
   *   `plugin_unavailable` if ffmpeg cannot be started; the signal's reason; what `write` throws.
   */
  toMp3(conversion: Mp3Conversion): Promise<ConversionReport> {
    return this.#files(async () =>
      runFfmpeg({ ...conversion, path: this.#path, parameters: await mp3Parameters(conversion) }),
    );
  }

  /**
   * Reads the beginning of a file.
   * @throws GatewayError as {@link toMp3}.
   */
  probe(probe: Probe): Promise<ConversionReport> {
    return this.#files(async () =>
      runFfmpeg({
        path: this.#path,
        parameters: await probeParameters(probe),
        write: async () => undefined,
        signal: probe.signal,
      }),
    );
  }

  /**
   * Decodes a whole file, which takes about a second for ten minutes of audio, to find its length. Headers are ignored.
   * @returns Seconds of its longest track; more than `maxSeconds` if it is longer.
   * @throws GatewayError as {@link toMp3}; `audio_unavailable` also if only a part of the file can be decoded.
   */
  async measure(measurement: Measurement): Promise<number> {
    return measure(this.#path, measurement, this.#lengths);
  }

  /**
   * Converts a stream of audio to another format.
   * @throws GatewayError as {@link toMp3}; what the source throws.
   */
  convertSpeech({ source, ...conversion }: SpeechConversion): Promise<ConversionReport> {
    return this.#streams(async () =>
      runFfmpeg({ ...conversion, path: this.#path, parameters: await speechParameters(conversion), feeds: [source] }),
    );
  }

  /**
   * Makes samples from a file or from filters alone.
   * @throws GatewayError as {@link toMp3}.
   */
  makeSamples(transcode: SampleRequest): Promise<ConversionReport> {
    return this.#streams(async () =>
      runFfmpeg({ ...transcode, path: this.#path, parameters: await sampleParameters(transcode) }),
    );
  }

  /**
   * Copies picture and sound into one file.
   * @throws GatewayError `media_unavailable` if they cannot be read, `queue_full` if too many are merged; otherwise as
   *   {@link toMp3}; what the sources throw.
   */
  merge(request: MergeRequest): Promise<ConversionReport> {
    return this.#merges(() => merge(this.#path, request));
  }

  /**
   * Encodes a part of a merged video anew, in the line of the MP3 conversions.
   * @throws GatewayError as {@link merge}; what the source throws.
   */
  cutExactly(request: ExactCutRequest): Promise<void> {
    return this.#files(() => cutExactly(this.#path, request));
  }

  /**
   * When the picture of a source begins.
   * @throws GatewayError as {@link merge}.
   */
  firstTime(input: MergedInput, signal: AbortSignal): Promise<FirstTime> {
    return this.#merges(() => firstTime(this.#path, input, signal));
  }
}

function createQueue(atATime: number, maxWaiting = MAX_WAITING) {
  const limit = pLimit(atATime);
  return async <Result>(run: () => Promise<Result>): Promise<Result> => {
    if (limit.activeCount + limit.pendingCount < atATime + maxWaiting)
      return limit(() => inSpan({ name: 'ffmpeg' }, run));
    throw new GatewayError('queue_full', 'Too many media files are being converted.');
  };
}

async function merge(path: string, request: MergeRequest): Promise<ConversionReport> {
  const command = await createCommand();
  addMerge(command, request, INPUT_OPTIONS);
  return writeVideo({ ...request, path, parameters: command._getArguments(), feeds: feedsOf(request.inputs) });
}

async function cutExactly(path: string, request: ExactCutRequest): Promise<void> {
  const command = await createCommand();
  addExactCut(command, request, QUIET, DECODERS);
  await writeVideo({ ...request, path, parameters: command._getArguments(), feeds: [request.source] });
}

/** Runs ffmpeg for a video; an MP4 of known length states it. */
async function writeVideo({
  to,
  seconds,
  ...run
}: FfmpegRun & Pick<MergeRequest, 'to' | 'seconds'>): Promise<ConversionReport> {
  const timed = to === 'mp4' && seconds !== undefined ? new DurationWriter(seconds, run.write) : undefined;
  const write = timed ? (chunk: Uint8Array) => timed.write(chunk) : run.write;
  try {
    const report = await runFfmpeg({ ...run, write });
    await timed?.flush();
    return report;
  } catch (error) {
    throw explainMerge(error);
  }
}

/** The first packet shows all that is asked for; the rest of the source is not read. */
async function firstTime(path: string, input: MergedInput, signal: AbortSignal): Promise<FirstTime> {
  const chunks: Uint8Array[] = [];
  const command = await createCommand();
  addFirstPacket(command, input, INPUT_OPTIONS);
  const write = async (chunk: Uint8Array) => void chunks.push(chunk);
  try {
    const feeds = feedsOf([input]);
    const { declaredSeconds } = await runFfmpeg({ path, parameters: command._getArguments(), feeds, write, signal });
    return { time: readFirstTime(Buffer.concat(chunks).toString('latin1')), seconds: declaredSeconds };
  } catch (error) {
    throw explainMerge(error);
  }
}

function explainMerge(error: unknown): unknown {
  if (!isGatewayError(error) || error.code !== 'audio_unavailable') return error;
  const message = 'The parts of the video cannot be put into one file: they are damaged or of another type.';
  return new GatewayError('media_unavailable', message, { cause: error, retryable: false });
}

/** Stops the decoder at the first packet beyond the maximum, so that a file of years costs no more than one of hours. */
async function measure(
  path: string,
  { signal, ...measurement }: Measurement,
  queue: ReturnType<typeof createQueue>,
): Promise<number> {
  const counter = new LengthCounter();
  const enough = new AbortController();
  const write = async (chunk: Uint8Array) => {
    counter.add(chunk);
    if (counter.seconds() > measurement.maxSeconds) enough.abort();
  };
  try {
    const { isPartial } = await queue(async () =>
      runFfmpeg({
        path,
        parameters: await lengthParameters(measurement),
        write,
        signal: AbortSignal.any([signal, enough.signal]),
      }),
    );
    if (isPartial) {
      const message = 'The file has audio that begins after its first part: it cannot be measured.';
      throw new GatewayError('audio_unavailable', message, { retryable: false });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!enough.signal.aborted) throw error;
  }
  return counter.seconds();
}

/**
 * fluent-ffmpeg builds the command lines, and we run them. Its own runner starts two more processes to query ffmpeg's
 * capabilities, reports the end before the last bytes, and throws an uncatchable error if the program cannot be
 * started.
 */
async function createCommand(): Promise<FfmpegCommand> {
  const { default: ffmpeg } = await import('./fluent-ffmpeg.js');
  return ffmpeg();
}

/** Restricts what a foreign file may make ffmpeg open: only itself, in its detected format. */
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
      // Headers that are filled in at the end would differ from what was already sent.
      .outputOptions([
        '-write_xing',
        '0',
        '-id3v2_version',
        '0',
        '-fs',
        String((maxSeconds + 60) * MP3_BYTES_PER_SECOND),
      ])
      // Otherwise each frame would be a separate write: five times the work for us, and a slower ffmpeg.
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

async function lengthParameters({ input, container, maxSeconds }: Omit<Measurement, 'signal'>) {
  const options = lengthOptions(container, maxSeconds + 1);
  return (await createCommand())
    .input(input)
    .inputFormat(container)
    .inputOptions(QUIET)
    .inputOptions([...onlyThisFile(container), ...options.input])
    .noVideo()
    .outputOptions(['-sn', '-dn', '-map', '0:a', '-map_metadata', '-1', '-map_chapters', '-1', '-threads', '1'])
    .outputOptions(options.output)
    .format('framecrc')
    .output('pipe:1')
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
      // The output is played while it is made.
      .outputOptions(['-flush_packets', '1'])
      .output('pipe:1')
      ._getArguments()
  );
}

async function sampleParameters({ source, filters, rate, maxSeconds }: SampleRequest): Promise<readonly string[]> {
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
