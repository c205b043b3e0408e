/*
 * The alphabet of the drawings as pen lines, so that words look the same on every machine, with or without fonts. A
 * glyph is a width and lines. A line is a list of points of two characters, x and y in base 36, on a grid whose
 * capitals are 8 wide and 12 high. `~` makes a line a curve, `@` a closed one. Typographic variants of a sign, such as
 * curly quotes, share its glyph. Accents are separate marks.
 */

/** A width and lines, in the notation above. */
export interface Glyph {
  width: number;
  lines: readonly string[];
}

const LETTERS: Readonly<Record<string, readonly string[]>> = {
  A: ['0c 40 8c', '28 68'],
  B: ['00 0c', '~00 50 71 74 56 06', '~06 56 87 8b 5c 0c'],
  C: ['~82 70 30 03 09 3c 7c 8a'],
  D: ['00 0c', '~00 40 82 8a 4c 0c'],
  E: ['70 00 0c 7c', '06 66'],
  F: ['70 00 0c', '06 66'],
  G: ['~82 70 30 03 09 3c 7c 8a 87', '87 57'],
  H: ['00 0c', '80 8c', '06 86'],
  K: ['00 0c', '80 07', '35 8c'],
  L: ['00 0c 7c'],
  N: ['0c 00 8c 80'],
  O: ['@20 60 83 89 6c 2c 09 03'],
  P: ['0c 00', '~00 50 81 85 57 07'],
  Q: ['@20 60 83 89 6c 2c 09 03', '59 8d'],
  R: ['0c 00', '~00 50 81 85 57 07', '47 8c'],
  S: ['~81 60 20 01 04 26 66 88 8b 6c 2c 0b'],
  T: ['00 80', '40 4c'],
  U: ['~00 08 1c 4c 7c 88 80'],
  V: ['00 4c 80'],
  X: ['00 8c', '80 0c'],
  Y: ['00 46 80', '46 4c'],
  Z: ['00 80 0c 8c'],
  '0': ['@20 60 83 89 6c 2c 09 03', '65 27'],
  '2': ['~02 20 60 83 75 0c', '0c 8c'],
  '3': ['~01 20 60 82 75 46', '~46 77 8a 6c 2c 0b'],
  '4': ['6c 60 08 88'],
  '5': ['80 10 05', '~05 54 86 8a 6c 2c 0b'],
  '6': ['~70 31 05 09 2c 6c 89 76 35 08'],
  '7': ['00 80 3c'],
  '8': ['@20 60 73 66 26 13', '@26 66 8a 6c 2c 0a'],
  '9': ['~1c 5b 87 83 60 20 03 16 57 84'],
  Đ: ['00 0c', '~00 40 82 8a 4c 0c', '06 46'],
  Ð: ['00 0c', '~00 40 82 8a 4c 0c', '06 46'],
  Ø: ['@20 60 83 89 6c 2c 09 03', '8a 12'],
  Ł: ['10 1c 8c', '08 54'],
  '?': ['~02 20 60 83 66 48', '4c'],
  '+': ['47 4d', '1a 7a'],
  '=': ['17 77', '1a 7a'],
  '<': ['73 07 7b'],
  '>': ['03 77 0b'],
  '#': ['20 1c', '60 5c', '04 84', '08 88'],
  $: ['~81 60 20 01 04 26 66 88 8b 6c 2c 0b', '40 4d'],
  '*': ['41 47', '12 76', '16 72'],
  '@': ['~87 54 36 39 5a 77 84 60 20 03 09 3c 7c'],
  '^': ['14 40 74'],
  '~': ['~07 25 67 85'],
  '/': ['0d 80'],
  '\\': ['00 8d'],
  '&': ['~8c 25 20 50 54 08 0b 3c 6b 87'],
};

/** Wider and narrower ones. */
const ODD: Readonly<Record<string, Glyph>> = {
  I: { width: 2, lines: ['10 1c'] },
  J: { width: 6, lines: ['~60 69 4c 2c 0a'] },
  M: { width: 10, lines: ['0c 00 58 a0 ac'] },
  W: { width: 12, lines: ['00 3c 62 9c c0'] },
  Æ: { width: 12, lines: ['0c 60 6c cc', '60 c0', '28 66', '66 b6'] },
  '1': { width: 5, lines: ['03 30 3c'] },
  '%': { width: 10, lines: ['0c a0', '@10 30 43 35 15 03', '@79 99 ab 9c 7c 6b'] },
  '.': { width: 2, lines: ['1c'] },
  ',': { width: 2, lines: ['1c 0e'] },
  ':': { width: 2, lines: ['15', '1c'] },
  ';': { width: 2, lines: ['15', '1b 0e'] },
  '!': { width: 2, lines: ['10 18', '1c'] },
  "'": { width: 2, lines: ['10 13'] },
  '`': { width: 3, lines: ['00 23'] },
  '"': { width: 4, lines: ['10 13', '30 33'] },
  '|': { width: 2, lines: ['10 1e'] },
  '-': { width: 5, lines: ['07 57'] },
  _: { width: 8, lines: ['0d 8d'] },
  '–': { width: 8, lines: ['07 87'] },
  '…': { width: 8, lines: ['1c', '4c', '7c'] },
  '(': { width: 3, lines: ['~30 04 09 3d'] },
  ')': { width: 3, lines: ['~00 34 39 0d'] },
  '[': { width: 3, lines: ['30 00 0d 3d'] },
  ']': { width: 3, lines: ['00 30 3d 0d'] },
  '{': { width: 4, lines: ['~40 21 25 06', '~06 28 2c 4d'] },
  '}': { width: 4, lines: ['~00 21 25 46', '~46 28 2c 0d'] },
  '°': { width: 4, lines: ['@10 30 41 33 13 01'] },
};

const SAME: Readonly<Record<string, string>> = {
  '’': "'",
  '‘': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '<',
  '»': '>',
  '—': '–',
  '−': '-',
  '‐': '-',
  '‑': '-',
  '。': '.',
  '、': ',',
  '，': ',',
  '！': '!',
  '？': '?',
};

/** A mark over or under a letter: lines from its middle on the same grid, y up from the top of the letter. */
export interface Mark {
  place: 'above' | 'below' | 'corner';
  lines: readonly (readonly (readonly [x: number, y: number])[])[];
}

/** @param lines Points of a line as `x,y`, separated by spaces. */
const marksAt =
  (place: Mark['place']) =>
  (...lines: string[]): Mark => ({
    place,
    lines: lines.map((line) =>
      line.split(' ').map((point) => {
        const [x = 0, y = 0] = point.split(',').map(Number);
        return [x, y] as const;
      }),
    ),
  });
const above = marksAt('above');
const below = marksAt('below');
const corner = marksAt('corner');

export const MARKS: Readonly<Record<string, Mark>> = {
  '\u0300': above('-2,4 0,2'),
  '\u0301': above('2,4 0,2'),
  '\u0302': above('-2,2 0,4 2,2'),
  '\u0303': above('-3,2 -1,3.5 1,2 3,3.5'),
  '\u0304': above('-2,2.5 2,2.5'),
  '\u0306': above('-2,4 -1,2.2 1,2.2 2,4'),
  '\u0307': above('0,2.5'),
  '\u0308': above('-1.6,2.5', '1.6,2.5'),
  '\u0309': above('-1,4.5 1,4.8 1,3.4 0,2.8 0,2'),
  '\u030a': above('0,2 -1,3 0,4 1,3 0,2'),
  '\u030b': above('0,4 -1.5,2', '2.5,4 1,2'),
  '\u030c': above('-2,4 0,2 2,4'),
  '\u031b': corner('-1,0 0.6,-0.2 0.8,1.8'),
  '\u0323': below('0,-2.4'),
  '\u0326': below('0.3,-1.4 -0.6,-3.2'),
  '\u0327': below('0,-0.4 0.8,-1.6 -0.8,-3'),
  '\u0328': below('1,-0.2 0,-1.8 1.6,-2.6'),
};

/** The glyph of a capital, a digit or a sign; undefined for what has none. */
export function glyphOf(character: string): Glyph | undefined {
  const known = SAME[character] ?? character;
  const odd = ODD[known];
  if (odd) return odd;
  const lines = LETTERS[known];
  return lines && { width: 8, lines };
}
