/*
 * The pen: a seeded random generator, smooth noise, lines and circles as a hand draws them, and the conversion of
 * strokes to coverage of pixels. A stroke is split into pieces of 24 pixels, so that only pixels near it are computed.
 * Where strokes overlap, the larger coverage counts. After each 200,000 pixels, about two milliseconds, the event loop
 * gets a turn and an abort is checked. Results depend only on the seed, not on the machine.
 */

import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';

/** Numbers from 0 up to 1, the same ones for the same seed on every machine. */
export type Random = () => number;

/** mulberry32, started from the text's hash. */
export function createRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function between(random: Random, from: number, to: number): number {
  return from + random() * (to - from);
}

export function pick<Item>(random: Random, items: readonly [Item, ...Item[]]): Item {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

/** Smooth noise over the plane, from -1 to 1, with features about as large as 1. */
export type Noise = (x: number, y: number) => number;

export function createNoise(random: Random): Noise {
  const salt = Math.floor(random() * 2 ** 31);
  const corner = (x: number, y: number) => {
    let hash = Math.imul(x, 374_761_393) ^ Math.imul(y, 668_265_263) ^ salt;
    hash = Math.imul(hash ^ (hash >>> 13), 1_274_126_177);
    return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 31 - 1;
  };
  const ease = (part: number) => part * part * (3 - 2 * part);
  return (x, y) => {
    const left = Math.floor(x);
    const top = Math.floor(y);
    const across = ease(x - left);
    const down = ease(y - top);
    const upper = corner(left, top) * (1 - across) + corner(left + 1, top) * across;
    const lower = corner(left, top + 1) * (1 - across) + corner(left + 1, top + 1) * across;
    return upper * (1 - down) + lower * down;
  };
}

export type Point = readonly [x: number, y: number];

/** A line of the pen, in pixels. One point alone is a dot. */
export interface Stroke {
  points: readonly Point[];
  /** Width of the line. */
  width: number;
}

/** Cuts the corners of a line, so that few points make a curve. Its ends stay. */
export function smooth(points: readonly Point[], closed = false): Point[] {
  let line = [...points];
  for (let round = 0; round < 3; round++) {
    const [first, last] = [line[0], line.at(-1)];
    if (!first || !last || line.length < 3) return line;
    const cut: Point[] = closed ? [] : [first];
    for (const [index, [x, y]] of line.entries()) {
      const next = line[index + 1] ?? (closed ? first : undefined);
      if (!next) break;
      cut.push([x * 0.75 + next[0] * 0.25, y * 0.75 + next[1] * 0.25]);
      cut.push([x * 0.25 + next[0] * 0.75, y * 0.25 + next[1] * 0.75]);
    }
    if (!closed) cut.push(last);
    line = cut;
  }
  const [start] = line;
  return closed && start ? [...line, start] : line;
}

/** A straight line as a hand draws it: bent a little, and a little too long. */
export function handLine(from: Point, to: Point, width: number, random: Random): Stroke {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const bend = (random() - 0.5) * 0.04;
  const over = 1 + random() * 0.03;
  const points: Point[] = [];
  for (let step = 0; step <= 8; step++) {
    const part = (step / 8) * over;
    const off = Math.sin((step / 8) * Math.PI) * bend;
    points.push([from[0] + dx * part - dy * off, from[1] + dy * part + dx * off]);
  }
  return { points, width };
}

export function handCircle([x, y]: Point, radius: number, width: number, random: Random): Stroke {
  const start = random() * Math.PI * 2;
  const points: Point[] = [];
  // A little more than once around, not quite meeting where it began.
  for (let step = 0; step <= 52; step++) {
    const angle = start + (step / 48) * Math.PI * 2;
    const reach = radius * (1 + 0.02 * Math.sin(angle * 3 + start) + step * 0.0006);
    points.push([x + Math.cos(angle) * reach, y + Math.sin(angle) * reach]);
  }
  return { points, width };
}

/** How much ink lies on each pixel, 0 to 255, row by row. */
export interface Ink {
  width: number;
  height: number;
  cover: Buffer;
}

/** A part of the picture, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Strokes that may be cut off at the edges of a part of the picture. */
export interface InkLayer {
  strokes: Iterable<Stroke>;
  /** In pixels. Default: the whole picture. */
  clip?: Box;
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
  clip: Box,
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
