/*
 * Sets a text in capitals as pen strokes, wrapped and centred in a box. The letters shrink by a tenth until the text
 * fits; at the smallest size the rest is cut. At most 600 characters are used. Accents are put on the base letters. A
 * character without a glyph, such as one of another script, becomes a mark that is derived from its code and therefore
 * always looks the same. No font is loaded, so that the result is identical on every machine.
 */

import { type Glyph, glyphOf, MARKS } from './glyphs.js';
import { type Box, createRandom, type Point, type Stroke, smooth } from './strokes.js';

export interface LetteringBox extends Box {
  /** Height of capitals in pixels where the text is short; it shrinks down to `smallest` before the text is cut. */
  capitals: number;
  smallest: number;
}

/** Of a text, more than a picture has room for. */
const MAX_CLUSTERS = 600;
/** Of a capital's height. */
const LINE_HEIGHT = 2;
const PEN = 0.13;
/** On the grid of the glyphs, where a capital is 12 high. */
const CAPITAL = 12;
const SPACING = 2.8;
const SPACE = 5;
/** How far a text stands lower for marks over its first line: the lower half of its last line stays free for marks below. */
const MAX_DROP = 3;

interface Letter {
  /** On the grid. */
  width: number;
  lines: readonly (readonly Point[])[];
}

/** A text in capitals, wrapped and centred in a box. What has no glyph is shown by a mark of its own. */
export function letter(text: string, box: LetteringBox): Stroke[] {
  const words = wordsOf(text);
  for (let capitals = box.capitals; ; capitals *= 0.9) {
    const isLast = capitals * 0.9 < box.smallest;
    const unit = capitals / CAPITAL;
    const lines = wrap(words, box.width / unit);
    const most = Math.max(1, Math.floor(box.height / (capitals * LINE_HEIGHT)));
    if (lines.length <= most || isLast) return place(cutTo(lines, most, box.width / unit), box, unit);
  }
}

function wordsOf(text: string): Letter[][] {
  const clusters = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text.slice(0, MAX_CLUSTERS * 4))];
  const words: Letter[][] = [[]];
  for (const { segment } of clusters.slice(0, MAX_CLUSTERS)) {
    if (/^[\s\p{Cc}]/u.test(segment)) words.push([]);
    else if (!/^[\p{Cf}\p{M}]+$/u.test(segment)) words.at(-1)?.push(...lettersOf(segment));
  }
  return words.filter((word) => word.length > 0);
}

function lettersOf(cluster: string): Letter[] {
  const letters: { glyph: Glyph; marks: string[] }[] = [];
  for (const character of cluster.toUpperCase().normalize('NFD')) {
    const last = letters.at(-1);
    if (last && MARKS[character]) {
      last.marks.push(character);
      continue;
    }
    if (/\p{M}/u.test(character)) continue;
    const glyph = glyphOf(character);
    if (!glyph) return [markFor(cluster)];
    letters.push({ glyph, marks: [] });
  }
  return letters.map(({ glyph, marks }) => ({
    width: glyph.width,
    lines: [...glyph.lines.map(readLine), ...marksOf(glyph.width, marks)],
  }));
}

function readLine(line: string): Point[] {
  const closed = line.startsWith('@');
  const curved = closed || line.startsWith('~');
  const points: Point[] = (line.match(/[0-9a-z]{2}/g) ?? []).map((pair) => [
    Number.parseInt(pair.charAt(0), 36),
    Number.parseInt(pair.charAt(1), 36),
  ]);
  return curved ? smooth(points, closed) : points;
}

function marksOf(width: number, marks: readonly string[]): Point[][] {
  let above = 0;
  return marks.flatMap((character) => {
    const mark = MARKS[character];
    if (!mark) return [];
    // A second mark stands on the first.
    const lift = mark.place === 'above' ? 3 * above++ : 0;
    const [originX, originY] = mark.place === 'corner' ? [width, 0] : [width / 2, mark.place === 'above' ? 0 : CAPITAL];
    return mark.lines.map((line) => line.map(([x, y]): Point => [originX + x, originY - y - lift]));
  });
}

/** A character of a script without glyphs here: no letter, but the same mark each time. */
function markFor(cluster: string): Letter {
  const random = createRandom(cluster);
  if (/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(cluster)) {
    const rows = [1, 4.5, 8, 11.5].filter(() => random() < 0.7);
    const columns = [1.5, 5.5, 9.5].filter(() => random() < 0.5);
    return {
      width: 11,
      lines: [
        [
          [5.5, 0],
          [5.5, 12],
        ],
        ...rows.map((y): Point[] => [
          [random() * 3, y],
          [11 - random() * 3, y],
        ]),
        ...columns.map((x): Point[] => [
          [x, random() * 5],
          [x, 12 - random() * 4],
        ]),
      ],
    };
  }
  if (/\p{L}|\p{N}/u.test(cluster)) {
    const height = 3 + random() * 6;
    const dot: Point = [2 + random() * 3, random() < 0.5 ? height - 5 : 15];
    const wave = smooth([
      [-1.4, 12],
      [1, 12],
      [2, 12 - height],
      [5, 12 - height],
      [5, 12],
      [8.4, 12],
    ]);
    return { width: 7, lines: random() < 0.5 ? [wave, [dot]] : [wave] };
  }
  const corners = 3 + Math.floor(random() * 5);
  const star: Point[] = [];
  for (let corner = 0; corner <= corners * 2; corner++) {
    const angle = (corner / corners) * Math.PI - Math.PI / 2;
    const reach = corner % 2 === 0 ? 6 : 3;
    star.push([6 + Math.cos(angle) * reach, 6 + Math.sin(angle) * reach]);
  }
  return { width: 12, lines: [star] };
}

function widthOf(letters: readonly Letter[]): number {
  return letters.reduce((sum, { width }) => sum + width + SPACING, -SPACING);
}

const GAP: Letter = { width: SPACE - SPACING, lines: [] };

function wrap(words: readonly Letter[][], width: number): Letter[][] {
  const lines: Letter[][] = [];
  let line: Letter[] = [];
  const pieces = words.flatMap((word) => split(word, width));
  for (const piece of pieces) {
    const joined = line.length > 0 ? [...line, GAP, ...piece] : piece;
    if (widthOf(joined) <= width) {
      line = joined;
      continue;
    }
    lines.push(line);
    line = piece;
  }
  if (line.length > 0) lines.push(line);
  return lines.filter(({ length }) => length > 0);
}

/** Words that are wider than a line, as those of scripts without spaces. */
function split(word: readonly Letter[], width: number): Letter[][] {
  const pieces: Letter[][] = [[]];
  for (const one of word) {
    const piece = pieces.at(-1) ?? [];
    if (piece.length > 0 && widthOf([...piece, one]) > width) pieces.push([one]);
    else piece.push(one);
  }
  return pieces;
}

function cutTo(lines: readonly Letter[][], most: number, width: number): Letter[][] {
  if (lines.length <= most) return [...lines];
  const kept = lines.slice(0, most).map((line) => [...line]);
  const last = kept.at(-1) ?? [];
  const dots = lettersOf('…');
  while (last.length > 0 && widthOf([...last, ...dots]) > width) last.pop();
  last.push(...dots);
  return kept;
}

/** What marks over capitals need, on the grid. */
function riseOf(line: readonly Letter[]): number {
  return -Math.min(0, ...line.flatMap((one) => one.lines.flat()).map(([, y]) => y));
}

function place(lines: readonly Letter[][], box: LetteringBox, unit: number): Stroke[] {
  const lineHeight = CAPITAL * unit * LINE_HEIGHT;
  const middle = box.y + (box.height - lines.length * lineHeight) / 2 + (lineHeight - CAPITAL * unit) / 2;
  const top = middle + unit * Math.min(MAX_DROP, Math.max(0, riseOf(lines[0] ?? []) - MAX_DROP));
  return lines.flatMap((line, row) => {
    let x = box.x + (box.width - widthOf(line) * unit) / 2;
    const y = top + row * lineHeight;
    return line.flatMap((one) => {
      const strokes = one.lines.map((points) => ({
        width: Math.max(1.2, CAPITAL * unit * PEN),
        points: points.map(([dx, dy]): Point => [x + dx * unit, y + dy * unit]),
      }));
      x += (one.width + SPACING) * unit;
      return strokes;
    });
  });
}
