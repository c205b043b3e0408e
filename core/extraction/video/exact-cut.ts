/*
 * Exact cuts: a cut at key frames is made as always, and passes on through a second ffmpeg, which encodes it anew from the
 * wanted time to the wanted time. That takes about a second of a core for each second of a large picture, so the operator
 * limits their length (`EXACT_CUT_SECONDS`, off by default), and two run at a time, in the line of MP3 conversions.
 */

import type { VideoFileRequest } from '../../contracts/index.js';
import type { Ffmpeg } from '../../media/index.js';
import { GatewayError } from '../../runtime/index.js';
import { type PreparedVideo, streamOf, type WantedVideo } from './prepared-video.js';

interface ExactTools {
  ffmpeg: Ffmpeg;
  /** Longest exact cut. */
  maxSeconds: number;
  signal: AbortSignal;
}

/**
 * Refuses what can be refused before anything is fetched.
 * @param maxSeconds Longest exact cut; 0 if there are none.
 * @throws GatewayError `unsupported_value` or `invalid_value` with `param`.
 */
export function checkExactCut({ isExact, start, end }: Partial<VideoFileRequest>, maxSeconds: number): void {
  if (!isExact) return;
  if (maxSeconds === 0) {
    const message =
      'exact is not available: this gateway makes no exact cuts (EXACT_CUT_SECONDS). Cuts without it are at key frames.';
    throw new GatewayError('unsupported_value', message, { param: 'exact' });
  }
  if (start === undefined && end === undefined)
    throw new GatewayError('invalid_value', 'exact needs start, end, or both.', { param: 'exact' });
  if (end !== undefined) checkLength(end - (start ?? 0), maxSeconds);
}

/** @throws GatewayError `invalid_value` if the cut is too long. */
export function cutExactly(video: PreparedVideo, wanted: WantedVideo, tools: ExactTools): PreparedVideo {
  const { container, start = 0, end } = wanted;
  const { cut: keyFrames, bytes } = video;
  // Not fetched yet.
  if (!keyFrames) return end === undefined ? video : { ...video, cut: { start, end } };
  const cut = { start, end: Math.min(end ?? keyFrames.end, keyFrames.end) };
  const seconds = cut.end - cut.start;
  checkLength(seconds, tools.maxSeconds);
  return {
    cut,
    bytes,
    run: (write) =>
      tools.ffmpeg.cutExactly({
        source: streamOf(video.run, tools.signal),
        to: container,
        start: Math.max(0, start - keyFrames.start),
        seconds,
        write,
        signal: tools.signal,
      }),
  };
}

function checkLength(seconds: number, maxSeconds: number): void {
  if (seconds <= maxSeconds) return;
  const length = Number.isFinite(seconds) ? `, not ${seconds.toFixed(3)}` : '';
  const message = `An exact cut has at most ${maxSeconds} seconds here (EXACT_CUT_SECONDS)${length}: end must be earlier.`;
  throw new GatewayError('invalid_value', message, { param: 'end' });
}
