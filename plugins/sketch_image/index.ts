/*
 * The mock image model, for gateways without a model. It draws a landscape with the prompt as its caption and a stamp
 * that says that no model made it. References lie on it as prints; with a mask only the open part of the first
 * reference is drawn. The same prompt, size, seed and references give the same picture. Drawing is CPU work in this
 * process: two pictures at a time, up to 1,000 calls wait, and loops give the event loop a turn every few milliseconds.
 * Partial images show the wash, then the ink.
 */

import {
  definePlugin,
  GatewayError,
  type GeneratedImage,
  type ImageCall,
  type ImageProvider,
  type ImageSize,
  type ImageWarning,
  type Media,
  type Static,
  Type,
} from 'mediagate/plugin';
import { letter } from './lettering.js';
import { encodeEdited, readMask } from './mask.js';
import {
  type Colour,
  choosePalette,
  type Encoding,
  encodePicture,
  mix,
  paintWash,
  printOf,
  readReference,
  slipOverlay,
} from './pixels.js';
import { composeScene } from './scene.js';
import { type Box, between, createRandom, drawInk, handLine, type Ink, type Random, type Stroke } from './strokes.js';

const options = Type.Object(
  {
    models: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      default: ['gen-img-2', 'gen-image-2'],
      description: 'Public names of the mock model.',
    }),
    seed: Type.Integer({ default: 0, description: 'Another number draws other images of the same words.' }),
  },
  { additionalProperties: false },
);

/** Drawings made here, offline, from the words of the prompt; no model has a part in them. */
export default definePlugin<typeof options>({
  name: 'sketch_image',
  apiVersion: 1,
  summary: 'Mock image model: an offline drawing with the words of the prompt, marked as a sketch.',
  provides: ['image'],
  standIn: true,
  options,
  setup: (context) => ({ imageProviders: [createSketchProvider(context.options)] }),
});

/** The prints that have room beside the scene. */
const MAX_REFERENCES = 4;
/** An edited image keeps its size up to this many pixels. */
const MAX_EDITED_PIXELS = 3840 * 2160;
/** The drawing of a narrow part is made with sides of this ratio at most, and cut. */
const MAX_PART_RATIO = 3;
const STAMP_INK: Colour = [176, 44, 38];
/** What is done about these is nothing; the others do not apply to a drawing that is never transparent. */
const IGNORED = ['quality', 'moderation', 'input_fidelity'];

/** Drawing is work for this process, and each picture takes memory: more at once would only hold up everything else. */
const LIMITS = { atOnce: 2, waiting: 1_000 };
/** Below this many pixels nothing can be read: smaller pictures are drawn larger and scaled down. */
const SHORTEST_SIDE = 256;

export function createSketchProvider({ models, seed }: Static<typeof options>): ImageProvider {
  const turns = new Turns(LIMITS);
  return {
    models: models.map((id) => ({
      id,
      maxReferences: MAX_REFERENCES,
      takesMask: true,
      formats: ['png', 'jpeg', 'webp'],
    })),
    generate: (call) => turns.take(call.signal, () => generate(call, seed)),
  };
}

type Seed = Static<typeof options>['seed'];

async function generate(call: ImageCall, seed: Seed): Promise<GeneratedImage> {
  const { mask } = call;
  const [edited] = call.references;
  if (!mask) return draw(call, seed);
  if (!edited) throw new GatewayError('invalid_value', 'A mask needs a reference image.', { param: 'mask' });
  return drawPart(call, edited, mask, seed);
}

async function draw(call: ImageCall, seed: Seed): Promise<GeneratedImage> {
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
  const scene = composeScene(
    call.prompt,
    { width: size.width, height: bottom, top: layout.margin, stamp: layout.stamp.x },
    random,
  );
  const wash = await paintWash({
    ...size,
    sceneHeight: bottom,
    margin: layout.margin,
    scene,
    palette,
    random,
    signal: call.signal,
  });
  const { partials } = call;
  if (partials) partials.show(await encodePicture({ ...size, wash }, asked, encodingOf(call), call.signal));
  const lines = [
    { strokes: scene.strokes, clip: layout.scene },
    { strokes: frame(layout.scene, random) },
    { strokes: caption(call.prompt, layout.caption) },
  ];
  const ink = { ...(await drawInk(size, lines, call.signal)), colour: palette.ink };
  const stamp = await drawStamp(layout.stamp, random, call.signal);
  const overlays = await Promise.all([
    ...references.map((reference, index) => {
      const box = layout.prints[index] ?? layout.scene;
      return printOf(reference, box, between(random, 1.5, 5) * (index % 2 === 0 ? -1 : 1));
    }),
    slipOverlay(stamp, { ink: STAMP_INK, paper: mix(palette.paper, [255, 255, 255], 0.5) }, layout.stamp),
  ]);
  call.signal.throwIfAborted();
  if (partials && partials.count > 1) {
    partials.show(await encodePicture({ ...size, wash, ink }, asked, encodingOf(call), call.signal));
  }
  const image = await encodePicture({ ...size, wash, ink, overlays }, asked, encodingOf(call), call.signal);
  const warnings = warningsOf(call);
  return { ...image, seed, ...(warnings.length > 0 && { warnings }) };
}

/** Draws only where the mask lets it: the rest stays as the first reference has it. */
async function drawPart(call: ImageCall, edited: Media, mask: Media, seed: Seed): Promise<GeneratedImage> {
  // Partial images would show the part without the image around it.
  const { partials: _, ...plain } = call;
  const { references, signal } = call;
  const { width, height } = await readReference(edited);
  const size = call.size === 'auto' ? shrunk({ width, height }) : call.size;
  const part = await readMask(mask, size, signal);
  const drawing =
    part && (await draw({ ...plain, size: drawnPart(part.box), references: references.slice(1), options: {} }, seed));
  signal.throwIfAborted();
  const image = await encodeEdited(edited, size, drawing && { ...part, drawing }, encodingOf(call));
  const warnings = warningsOf(call);
  if (!part) warnings.push({ setting: 'mask', details: 'nothing is drawn, since no pixel of it is transparent' });
  return { ...image, seed, ...(warnings.length > 0 && { warnings }) };
}

function drawnSize({ width, height }: ImageSize): ImageSize {
  const scale = Math.max(1, SHORTEST_SIDE / Math.min(width, height));
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

function shrunk({ width, height }: ImageSize): ImageSize {
  const scale = Math.min(1, Math.sqrt(MAX_EDITED_PIXELS / (width * height)));
  return { width: Math.max(1, Math.floor(width * scale)), height: Math.max(1, Math.floor(height * scale)) };
}

function drawnPart({ width, height }: ImageSize): ImageSize {
  const least = Math.ceil(Math.max(width, height) / MAX_PART_RATIO);
  return { width: Math.max(width, least), height: Math.max(height, least) };
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

function warningsOf({ options }: ImageCall): ImageWarning[] {
  const ignored = IGNORED.filter((name) => options[name] !== undefined && options[name] !== 'auto');
  return [
    ...ignored.map((setting) => ({ setting, details: 'a sketch is always the same in this' })),
    ...(options.background === 'transparent' ? [{ setting: 'background', details: 'a sketch is drawn on paper' }] : []),
  ];
}

/** Where things lie, in whole pixels. */
interface Layout {
  /** Bare paper around everything. */
  margin: number;
  scene: Box;
  caption: Box;
  stamp: Box;
  /** One for each reference. */
  prints: readonly Box[];
}

function layOut({ width, height }: ImageSize, references: number): Layout {
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

/** Lets few in at a time; the others wait in the order they came. */
export class Turns {
  readonly #atOnce: number;
  readonly #waiting: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }) {
    this.#atOnce = atOnce;
    this.#waiting = waiting;
  }

  /** @throws GatewayError `queue_full` where too many wait; the signal's reason; what the work throws. */
  async take<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    if (this.#running < this.#atOnce) this.#running++;
    else if (this.#queue.length >= this.#waiting)
      throw new GatewayError('queue_full', 'Too many pictures are being drawn.');
    // A call that ends hands its place on, so that `running` stays as it is.
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#running--;
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      this.#queue.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
