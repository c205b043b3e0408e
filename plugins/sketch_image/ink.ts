import { setImmediate as breathe } from 'node:timers/promises';
import type { Stroke } from './strokes.js';

/** How much ink lies on each pixel, 0 to 255, row by row. */
export interface Ink {
  width: number;
  height: number;
  cover: Buffer;
}

/** Strokes that may be cut off at the edges of a part of the picture. */
export interface InkLayer {
  strokes: Iterable<Stroke>;
  /** In pixels. Default: the whole picture. */
  clip?: Clip;
}

interface Clip {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Longer pieces are split: the pixels looked at are those of the box around a piece. */
const PIECE = 24;
/** Pixels looked at between two breaths of the event loop; about two milliseconds. */
const PIXELS_AT_ONCE = 200_000;

/** Draws strokes with round ends and soft edges. @throws the signal's reason. */
export async function drawInk(
  size: { width: number; height: number },
  layers: readonly InkLayer[],
  signal: AbortSignal,
): Promise<Ink> {
  const ink: Ink = { ...size, cover: Buffer.alloc(size.width * size.height) };
  let looked = 0;
  for (const { points, width, clip } of clippedStrokes(layers, size)) {
    const [first] = points;
    if (!first) continue;
    let [x, y] = first;
    for (const [toX, toY] of points.length > 1 ? points.slice(1) : points) {
      const pieces = Math.max(1, Math.ceil(Math.hypot(toX - x, toY - y) / PIECE));
      const [stepX, stepY] = [(toX - x) / pieces, (toY - y) / pieces];
      for (let piece = 0; piece < pieces; piece++) {
        looked += drawPiece(ink, clip, [x, y, x + stepX, y + stepY], width / 2);
        x += stepX;
        y += stepY;
      }
      [x, y] = [toX, toY];
    }
    if (looked > PIXELS_AT_ONCE) {
      looked = 0;
      await breathe();
      signal.throwIfAborted();
    }
  }
  return ink;
}

function* clippedStrokes(layers: readonly InkLayer[], size: { width: number; height: number }) {
  for (const { strokes, clip = { x: 0, y: 0, ...size } } of layers) {
    for (const stroke of strokes) yield { ...stroke, clip };
  }
}

/** @returns how many pixels it looked at. */
function drawPiece(
  ink: Ink,
  clip: Clip,
  [x0, y0, x1, y1]: readonly [number, number, number, number],
  radius: number,
): number {
  const reach = radius + 1;
  const left = Math.max(clip.x, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(clip.x + clip.width - 1, Math.ceil(Math.max(x0, x1) + reach));
  const top = Math.max(clip.y, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(clip.y + clip.height - 1, Math.ceil(Math.max(y0, y1) + reach));
  const [dx, dy] = [x1 - x0, y1 - y0];
  const lengthSquared = dx * dx + dy * dy || 1;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const along = ((x + 0.5 - x0) * dx + (y + 0.5 - y0) * dy) / lengthSquared;
      const part = along < 0 ? 0 : along > 1 ? 1 : along;
      const [offX, offY] = [x + 0.5 - x0 - part * dx, y + 0.5 - y0 - part * dy];
      const cover = (radius + 0.5 - Math.sqrt(offX * offX + offY * offY)) * 255;
      const index = y * ink.width + x;
      const there = ink.cover[index] ?? 0;
      if (cover > there) ink.cover[index] = cover > 255 ? 255 : cover;
    }
  }
  return Math.max(0, right - left + 1) * Math.max(0, bottom - top + 1);
}
