/*
 * Composes the landscape of a drawing: hills, sea or town, chosen by words of the prompt or by the seed. The land
 * consists of three ridges, each a function from the horizontal position to a height. Lines of a ridge are drawn only
 * where no nearer ridge hides them, so that strokes never cross the land in front. All random choices come from one
 * seeded generator in a fixed order: an added call changes every later drawing of the same prompt.
 */

import {
  between,
  createNoise,
  handCircle,
  handLine,
  type Noise,
  type Point,
  pick,
  type Random,
  type Stroke,
  smooth,
} from './strokes.js';
import { type Kind, kindOf } from './words.js';

/** What is drawn above the words: a landscape of some kind. */
export interface Scene {
  /** Far to near: where the land begins, in pixels from the top, for a position from the left. */
  ridges: readonly ((x: number) => number)[];
  sun: { x: number; y: number; radius: number };
  strokes: readonly Stroke[];
}

interface Place {
  width: number;
  height: number;
  /** Width of the pen. */
  pen: number;
  random: Random;
  noise: Noise;
}

/** Height of the land above the bottom, far to near, as parts of the scene's height. */
const LEVELS = [0.5, 0.34, 0.17] as const;

/** Size in pixels, and where its sky is free. */
export interface SceneRoom {
  width: number;
  height: number;
  /** Where the sky begins below the frame. */
  top: number;
  /** Where the stamp begins, in the corner at the top right. */
  stamp: number;
}

export function composeScene(prompt: string, { width, height, top, stamp }: SceneRoom, random: Random): Scene {
  const pen = Math.max(1.2, Math.min(width, height) / 360);
  const place: Place = { width, height, pen, random, noise: createNoise(random) };
  const chance = pick<Kind>(random, ['hills', 'sea', 'town']);
  const kind = kindOf(prompt) ?? chance;
  const [x, y] = [width * between(random, 0.18, 0.62), height * between(random, 0.16, 0.3)];
  const radius = Math.min(width, height) * between(random, 0.07, 0.12);
  const sun = { x: Math.min(x, stamp - radius * 1.4), y: Math.max(y, top + radius * 1.5), radius };
  const ridges = ridgesOf(kind, place);
  const strokes = [
    handCircle([sun.x, sun.y], sun.radius, pen, random),
    ...birds(place, sun),
    ...ridges.flatMap((ridge, index) => outline(ridge, nearest(ridges.slice(index + 1), place), place)),
    ...ridges.flatMap((ridge, index) =>
      kind === 'hills' || index === 0 ? hatching(ridge, nearest(ridges.slice(index + 1), place), place, index) : [],
    ),
    ...(kind === 'sea' ? water(place) : []),
    ...(kind === 'hills' ? trees(ridges.at(-1), place) : []),
    ...(kind === 'town' ? windows(ridges, place) : []),
  ];
  return { ridges, sun, strokes };
}

function ridgesOf(kind: Kind, place: Place): ((x: number) => number)[] {
  const { width, height, noise, random } = place;
  return LEVELS.map((level, index) => {
    const base = height * (1 - level);
    const shift = between(random, 0, 50);
    if (kind === 'town' && index > 0) return skyline(base, height * 0.3, place);
    if (kind === 'sea' && index > 0) return (x) => base + noise((x / width) * 3 + shift, index) * height * 0.006;
    const rough = kind === 'sea' ? 0.07 : 0.13 - index * 0.03;
    return (x) => {
      const at = (x / width) * (2.2 + index) + shift;
      return base + (noise(at, index) + 0.4 * noise(at * 2.7, index + 9)) * height * rough;
    };
  });
}

/** Houses of one row; their heights change in steps. */
function skyline(base: number, tallest: number, { width, random }: Place): (x: number) => number {
  const roofs: { until: number; y: number }[] = [];
  for (let x = 0; x < width; ) {
    x += width * between(random, 0.06, 0.13);
    roofs.push({ until: x, y: base - tallest * between(random, 0.1, 0.9) ** 2 });
  }
  return (x) => roofs.find(({ until }) => x < until)?.y ?? base;
}

/** Where what is nearer begins to hide what is behind. */
function nearest(ridges: readonly ((x: number) => number)[], { height }: Place): (x: number) => number {
  return (x) => Math.min(height, ...ridges.map((ridge) => ridge(x)));
}

/** The line of a ridge, where nothing nearer hides it. */
function outline(ridge: (x: number) => number, hidden: (x: number) => number, place: Place): Stroke[] {
  const { width, pen, noise } = place;
  const lines: Point[][] = [[]];
  const step = Math.max(2, pen * 2);
  for (let x = -step; x <= width + step; x += step) {
    const y = ridge(x) + noise(x / (pen * 14), 3) * pen * 0.8;
    if (y < hidden(x)) lines.at(-1)?.push([x, y]);
    else if (lines.at(-1)?.length) lines.push([]);
  }
  return lines.filter(({ length }) => length > 1).map((points) => ({ points, width: pen * 1.15 }));
}

/** Slanting lines below a ridge, where the light does not fall. */
function hatching(ridge: (x: number) => number, hidden: (x: number) => number, place: Place, row: number): Stroke[] {
  const { width, height, pen, noise, random } = place;
  const strokes: Stroke[] = [];
  for (let x = -height * 0.05; x < width; x += pen * between(random, 4.5, 7)) {
    const shade = noise((x / width) * 6, 21.3 + row * 7);
    if (shade < -0.05) continue;
    const y = ridge(x) + pen * 3;
    const length = Math.min(
      height * (0.03 + 0.07 * shade),
      Math.min(hidden(x), hidden(x + height * 0.05)) - y - pen * 2,
    );
    if (length > pen * 4) strokes.push(handLine([x, y], [x + length * 0.55, y + length], pen * 0.55, random));
  }
  return strokes;
}

/** None over the sun. */
function birds({ width, height, pen, random }: Place, sun: Scene['sun']): Stroke[] {
  const centre: Point = [width * between(random, 0.5, 0.7), height * between(random, 0.24, 0.36)];
  return Array.from({ length: 4 }, () => {
    const [x, y] = [centre[0] + (random() - 0.5) * width * 0.2, centre[1] + (random() - 0.5) * height * 0.12];
    const span = pen * between(random, 4, 7);
    const line = smooth([
      [x - span, y - span * 0.5],
      [x - span * 0.5, y - span * 0.7],
      [x, y],
      [x + span * 0.5, y - span * 0.7],
      [x + span, y - span * 0.5],
    ]);
    const isFree = Math.hypot(x - sun.x, y - span * 0.4 - sun.y) > sun.radius + span * 1.5;
    return isFree ? [{ points: line, width: pen * 0.8 }] : [];
  }).flat();
}

/** A boat, and waves around it. */
function water(place: Place): Stroke[] {
  const { width, height, random } = place;
  const size = Math.min(width, height) * between(random, 0.1, 0.15);
  const [x, y] = [width * between(random, 0.35, 0.65), height * (1 - LEVELS[2] - 0.03)];
  const isFree = ([left, top]: Point, length: number) =>
    Math.abs(left + length / 2 - x) > size * 1.2 + length / 2 || top < y - size * 1.8 || top > y + size * 0.9;
  return [...waves(isFree, place), ...boat([x, y], size, place)];
}

function waves(isFree: (start: Point, length: number) => boolean, { width, height, pen, random }: Place): Stroke[] {
  return Array.from({ length: 52 }, () => {
    const depth = random();
    const y = height * (1 - LEVELS[1] + depth * (LEVELS[1] - 0.02));
    const length = width * (0.015 + 0.05 * depth);
    const x = random() * width;
    const lift = length * 0.12;
    const line = smooth([
      [x, y],
      [x + length * 0.25, y - lift],
      [x + length * 0.5, y],
      [x + length * 0.75, y - lift],
      [x + length, y],
    ]);
    return isFree([x, y], length) ? [{ points: line, width: pen * (0.6 + 0.5 * depth) }] : [];
  }).flat();
}

function boat([x, y]: Point, size: number, { pen, random }: Place): Stroke[] {
  const at = (dx: number, dy: number): Point => [x + dx * size, y + dy * size];
  const line = (from: Point, to: Point) => handLine(from, to, pen * 1.3, random);
  return [
    { points: smooth([at(-1, -0.1), at(-0.75, 0.35), at(0, 0.4), at(0.75, 0.35), at(1.05, -0.15)]), width: pen * 1.5 },
    line(at(-1, -0.1), at(1.05, -0.15)),
    line(at(0.05, -0.12), at(0.05, -1.7)),
    { points: smooth([at(0.12, -1.65), at(0.75, -0.9), at(0.9, -0.3)]), width: pen * 1.3 },
    line(at(0.12, -0.3), at(0.9, -0.3)),
    { points: smooth([at(-0.03, -1.45), at(-0.45, -0.8), at(-0.6, -0.3)]), width: pen * 1.3 },
    line(at(-0.6, -0.3), at(-0.03, -0.3)),
    ...[0.5, 0.62, 0.74].map((dy, row) => line(at(-0.8 + row * 0.2, dy), at(0.8 - row * 0.25, dy))),
  ];
}

function trees(ridge: ((x: number) => number) | undefined, { width, height, pen, random }: Place): Stroke[] {
  if (!ridge) return [];
  return Array.from({ length: 7 }, () => {
    const x = random() * width;
    const size = height * between(random, 0.05, 0.1);
    const foot = ridge(x) + size * 0.25;
    const tiers = Array.from({ length: 5 }, (_, tier): Stroke => {
      const y = foot - size * (0.25 + tier * 0.19);
      const reach = size * (0.3 - tier * 0.05);
      return {
        points: smooth([
          [x - reach, y],
          [x, y - reach * 0.9],
          [x + reach, y],
        ]),
        width: pen,
      };
    });
    return [handLine([x, foot], [x, foot - size * 1.2], pen, random), ...tiers];
  }).flat();
}

function windows(ridges: readonly ((x: number) => number)[], { width, height, pen, random }: Place): Stroke[] {
  const front = ridges.at(-1);
  if (!front) return [];
  const gap = Math.min(width, height) * 0.035;
  const strokes: Stroke[] = [];
  for (let x = gap; x < width - gap; x += gap) {
    // A wall stands where the roof is level to both sides.
    if (front(x) !== front(x + gap * 0.6) || random() < 0.25) continue;
    for (let y = front(x) + gap * 0.7; y < height - gap; y += gap * 1.3) {
      if (random() < 0.3) continue;
      strokes.push(handLine([x, y], [x + gap * 0.4, y], pen * 0.8, random));
      strokes.push(handLine([x + gap * 0.4, y], [x + gap * 0.4, y + gap * 0.55], pen * 0.8, random));
      strokes.push(handLine([x, y], [x, y + gap * 0.55], pen * 0.8, random));
      strokes.push(handLine([x, y + gap * 0.55], [x + gap * 0.4, y + gap * 0.55], pen * 0.8, random));
    }
  }
  return strokes;
}
