import { pick, type Random } from './random.js';

/** Red, green and blue, 0 to 255. */
export type Colour = readonly [number, number, number];

export interface Palette {
  paper: Colour;
  sky: Colour;
  sun: Colour;
  /** Far to near. */
  land: readonly [Colour, Colour, Colour];
  ink: Colour;
}

type Hexes = readonly [sky: string, sun: string, far: string, middle: string, near: string, ink: string];

const PALETTES: readonly [Hexes, ...Hexes[]] = [
  ['#bcd8e6', '#f2b26b', '#9fb8c6', '#6f97a6', '#3f6d7a', '#1d2b38'],
  ['#f3d3bd', '#e4705c', '#d9a59a', '#a9707d', '#5e4a66', '#2a2036'],
  ['#d7e4c8', '#eec24f', '#b3cc9c', '#7fa776', '#46745a', '#1f3329'],
  ['#d9d3ec', '#f0a0a8', '#b7b1da', '#8683b8', '#54528c', '#222145'],
  ['#f1e2b8', '#d9772f', '#dfc07c', '#b98b4a', '#7c5a36', '#33241a'],
  ['#c6e3dc', '#f08a63', '#93c7bf', '#559d9d', '#2a6a78', '#12313c'],
  ['#e8dcd4', '#c9524a', '#c9bdb4', '#938a86', '#57535a', '#22222a'],
];

/** Words that name a colour lead to the palette that has it. */
const COLOUR_WORDS: readonly RegExp[] = [
  /\b(?:blue|steel|ice|winter|snow|rain)\b/i,
  /\b(?:red|pink|rose|dusk|dawn|sunset|love)\b/i,
  /\b(?:green|forest|spring|grass|leaf|garden)\b/i,
  /\b(?:violet|purple|night|lavender|dream|magic)\b/i,
  /\b(?:yellow|gold|golden|desert|autumn|sand|orange)\b/i,
  /\b(?:teal|turquoise|sea|ocean|island|tropical)\b/i,
  /\b(?:grey|gray|black|white|fog|stone|city)\b/i,
];
const PAPER = '#f7f1e4';
/** How much of a reference's colour gets into the land. */
const REFERENCE_SHARE = 0.55;

/** @param references average colours of the reference images. */
export function choosePalette(prompt: string, references: readonly Colour[], random: Random): Palette {
  const any = pick(random, PALETTES);
  const named = COLOUR_WORDS.findIndex((words) => words.test(prompt));
  const [sky, sun, far, middle, near, ink] = PALETTES[named] ?? any;
  const land = [far, middle, near].map((hex, index) => {
    const reference = references[index % Math.max(1, references.length)];
    return reference ? mix(colourOf(hex), reference, REFERENCE_SHARE) : colourOf(hex);
  }) as [Colour, Colour, Colour];
  return { paper: colourOf(PAPER), sky: colourOf(sky), sun: colourOf(sun), land, ink: colourOf(ink) };
}

/** `share` 0 is all the first, 1 all the second. */
export function mix(first: Colour, second: Colour, share: number): Colour {
  return [
    first[0] + (second[0] - first[0]) * share,
    first[1] + (second[1] - first[1]) * share,
    first[2] + (second[2] - first[2]) * share,
  ];
}

function colourOf(hex: string): Colour {
  const number = Number.parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
