import type { GeneratedImage, ImageCall, ImageProvider, ImageSize } from 'mediagate';
import { drawInk, type Ink } from './ink.js';
import { type Box, chooseSize, layOut } from './layout.js';
import { letter } from './lettering.js';
import { type Colour, choosePalette, mix } from './palette.js';
import { type Encoding, encodePicture, inkOverlay, printOf, readReference, slipOverlay } from './pixels.js';
import { between, createRandom, type Random } from './random.js';
import { composeScene } from './scene.js';
import { handLine, type Stroke } from './strokes.js';
import { createTurns } from './turns.js';
import { paintWash } from './wash.js';

export interface SketchOptions {
  models: readonly string[];
  seed: number;
}

const STAMP_INK: Colour = [176, 44, 38];
/** What is done about these is nothing; the others do not apply to a drawing that is never transparent. */
const IGNORED = ['quality', 'moderation', 'input_fidelity'];

/** Drawing is work for this process, and each picture takes memory: more at once would only hold up everything else. */
const LIMITS = { atOnce: 2, waiting: 1_000 };
/** Below this many pixels nothing can be read: smaller pictures are drawn larger and scaled down. */
const SHORTEST_SIDE = 256;

export function createSketchProvider({ models, seed }: SketchOptions): ImageProvider {
  const turns = createTurns(LIMITS);

  async function draw(call: ImageCall): Promise<GeneratedImage> {
    const references = await Promise.all(call.references.map(readReference));
    const asked = call.size === 'auto' ? chooseSize(call.prompt, references[0]) : call.size;
    const size = drawnSize(asked);
    const random = createRandom(`${seed} ${size.width}x${size.height} ${call.prompt}`);
    const palette = choosePalette(
      call.prompt,
      references.map(({ average }) => average),
      random,
    );
    const layout = layOut(size, references.length);
    const bottom = layout.scene.y + layout.scene.height;
    const scene = composeScene(call.prompt, size.width, bottom, random);
    const wash = await paintWash({
      ...size,
      sceneHeight: bottom,
      margin: layout.margin,
      scene,
      palette,
      random,
      signal: call.signal,
    });
    const lines = [
      { strokes: scene.strokes, clip: layout.scene },
      { strokes: frame(layout.scene, random) },
      { strokes: caption(call.prompt, layout.caption) },
    ];
    const ink = await drawInk(size, lines, call.signal);
    const stamp = await drawStamp(layout.stamp, random, call.signal);
    const overlays = await Promise.all([
      inkOverlay(ink, palette.ink),
      ...references.map((reference, index) => {
        const box = layout.prints[index] ?? layout.scene;
        return printOf(reference, box, between(random, 1.5, 5) * (index % 2 === 0 ? -1 : 1));
      }),
      slipOverlay(stamp, { ink: STAMP_INK, paper: mix(palette.paper, [255, 255, 255], 0.5) }, layout.stamp),
    ]);
    call.signal.throwIfAborted();
    const image = await encodePicture({ ...size, wash, overlays }, asked, encodingOf(call));
    const warnings = warningsOf(call);
    return { ...image, ...(warnings.length > 0 && { warnings }) };
  }

  return { models, generate: (call) => turns.take(call.signal, () => draw(call)) };
}

function drawnSize({ width, height }: ImageSize): ImageSize {
  const scale = Math.max(1, SHORTEST_SIDE / Math.min(width, height));
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

function caption(prompt: string, box: Box): Stroke[] {
  return letter(prompt, { ...box, capitals: box.height * 0.34, smallest: box.height * 0.115 });
}

function frame({ x, y, width, height }: Box, random: Random): Stroke[] {
  const pen = Math.max(1, Math.min(width, height) / 420);
  const corners = [
    [x, y],
    [x + width, y],
    [x + width, y + height],
    [x, y + height],
  ] as const;
  return corners.map((corner, index) => handLine(corner, corners[(index + 1) % 4] ?? corner, pen, random));
}

/** Nobody shall take the picture for a model's. */
function drawStamp({ width, height }: Box, random: Random, signal: AbortSignal): Promise<Ink> {
  const inset = Math.round(height * 0.07);
  const inner = { x: inset * 2, width: width - inset * 4 };
  const [large, small] = [height * 0.4, height * 0.13];
  const strokes = [
    ...frame({ x: inset, y: inset, width: width - inset * 2, height: height - inset * 2 }, random),
    ...letter('SKETCH', { ...inner, y: height * 0.08, height: height * 0.58, capitals: large, smallest: large / 4 }),
    ...letter('NO MODEL CONNECTED', {
      ...inner,
      y: height * 0.62,
      height: height * 0.26,
      capitals: small,
      smallest: small / 3,
    }),
  ];
  return drawInk({ width, height }, [{ strokes }], signal);
}

function encodingOf({ options }: ImageCall): Encoding {
  const format = options.output_format;
  const compression = options.output_compression;
  return {
    format: format === 'jpeg' || format === 'webp' ? format : 'png',
    quality: typeof compression === 'number' ? Math.max(1, Math.min(100, Math.round(compression))) : 90,
  };
}

function warningsOf({ options }: ImageCall): string[] {
  const ignored = IGNORED.filter((name) => options[name] !== undefined && options[name] !== 'auto');
  return [
    ...ignored.map((name) => `${name}: a sketch is always the same in this`),
    ...(options.background === 'transparent' ? ['background: a sketch is drawn on paper'] : []),
  ];
}
