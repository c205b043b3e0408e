/*
 * Draws audio as bars over its slider, which keeps its keys and clicks: what is played in the accent colour, the rest
 * muted. Audio that cannot be decoded, or is too large to be, leaves the slider as it was.
 */

import { element } from '../elements.js';

const MAX_BYTES = 10_000_000;
/** Samples a second: enough for bars, and little memory. */
const RATE = 8_000;
/** In pixels. */
const BAR = 2;
const STEP = 4;

/** @param sound What `audio` plays. */
export async function drawWaveform(slider: HTMLInputElement, audio: HTMLAudioElement, sound: Blob): Promise<void> {
  if (sound.size > MAX_BYTES) return;
  const decoded = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await sound.arrayBuffer());
  const samples = decoded.getChannelData(0);
  const canvas = element('canvas', { class: 'waveform', 'aria-hidden': 'true' });
  let peaks: readonly number[] = [];
  const paint = () => {
    const pen = canvas.getContext('2d');
    const { width, height } = canvas;
    const played = (slider.valueAsNumber / decoded.duration) * peaks.length;
    const [{ accentColor }, { color }] = [getComputedStyle(slider), getComputedStyle(canvas)];
    pen?.clearRect(0, 0, width, height);
    for (const [index, peak] of peaks.entries()) {
      const high = Math.max(BAR * devicePixelRatio, peak * height);
      if (pen) pen.fillStyle = index < played ? accentColor : color;
      pen?.fillRect(index * STEP * devicePixelRatio, (height - high) / 2, BAR * devicePixelRatio, high);
    }
  };
  slider.before(canvas);
  new ResizeObserver(() => {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    peaks = peaksOf(samples, Math.floor(canvas.clientWidth / STEP));
    paint();
  }).observe(canvas);
  slider.addEventListener('input', paint);
  audio.addEventListener('timeupdate', paint);
}

/** The loudest sample of each part, as a share of the loudest of all. */
function peaksOf(samples: Float32Array, parts: number): number[] {
  const peaks = Array.from({ length: parts }, () => 0);
  for (const [index, sample] of samples.entries()) {
    const part = Math.floor((index / samples.length) * parts);
    peaks[part] = Math.max(peaks[part] ?? 0, Math.abs(sample));
  }
  const loudest = Math.max(...peaks, Number.EPSILON);
  return peaks.map((peak) => peak / loudest);
}
