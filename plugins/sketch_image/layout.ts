import type { ImageSize, Media } from 'mediagate';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Where things lie, in whole pixels. */
export interface Layout {
  /** Bare paper around everything. */
  margin: number;
  scene: Box;
  caption: Box;
  stamp: Box;
  /** One for each reference. */
  prints: readonly Box[];
}

export function layOut({ width, height }: ImageSize, references: number): Layout {
  const short = Math.min(width, height);
  const margin = Math.round(short * 0.045);
  const captionHeight = Math.round(Math.max(height * 0.16, short * 0.2));
  const scene = { x: margin, y: margin, width: width - 2 * margin, height: height - captionHeight - margin };
  const stampWidth = Math.round(short * 0.25);
  return {
    margin,
    scene,
    caption: {
      x: margin * 2,
      y: scene.y + scene.height + Math.round(margin * 0.3),
      width: width - 4 * margin,
      height: captionHeight - Math.round(margin * 0.9),
    },
    stamp: {
      x: width - margin - Math.round(stampWidth * 1.08),
      y: margin + Math.round(margin * 0.5),
      width: stampWidth,
      height: Math.round(stampWidth * 0.42),
    },
    prints: prints(scene, references),
  };
}

/** The grid whose cells come closest to being square. */
function prints(scene: Box, count: number): Box[] {
  const columns = [1, 2, 3, 4]
    .filter((one) => one <= count)
    .sort((one, other) => cellSide(scene, count, other) - cellSide(scene, count, one))[0];
  if (!columns) return [];
  const rows = Math.ceil(count / columns);
  const [width, height] = [scene.width / columns, (scene.height * 0.84) / rows];
  return Array.from({ length: count }, (_, index) => {
    const row = Math.floor(index / columns);
    const inRow = Math.min(columns, count - row * columns);
    const left = scene.x + (scene.width - inRow * width) / 2;
    return {
      x: Math.round(left + (index % columns) * width),
      y: Math.round(scene.y + scene.height * 0.14 + row * height),
      width: Math.round(width),
      height: Math.round(height),
    };
  });
}

function cellSide({ width, height }: Box, count: number, columns: number): number {
  return Math.min(width / columns, height / Math.ceil(count / columns));
}

const SQUARE = { width: 1024, height: 1024 };
const PORTRAIT = { width: 1024, height: 1536 };
const LANDSCAPE = { width: 1536, height: 1024 };

/** What `auto` means: the shape of the first reference, else one that the words ask for. */
export function chooseSize(prompt: string, reference: { width: number; height: number } | undefined): ImageSize {
  const ratio = reference && reference.width / reference.height;
  if (ratio !== undefined) return ratio > 1.2 ? LANDSCAPE : ratio < 0.83 ? PORTRAIT : SQUARE;
  if (/\b(?:portrait|poster|tall|vertical|upright|cover)\b/i.test(prompt)) return PORTRAIT;
  return /\b(?:landscape|wide|panorama|banner|horizontal|cinematic)\b/i.test(prompt) ? LANDSCAPE : SQUARE;
}

/** A reference that could be read. */
export interface Reference extends Media {
  width: number;
  height: number;
  /** Red, green and blue, 0 to 255. */
  average: readonly [number, number, number];
}
