import type { Random } from './random.js';

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
