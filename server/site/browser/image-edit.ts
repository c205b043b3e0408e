/*
 * The editor of an image: parts are painted on a canvas above the picture, drawn as rectangles, there or in numbers, erased,
 * and can be undone one by one. They become a mask of the picture's size whose transparent pixels mark what may change, and the
 * edit is a job with the picture as its input. The pages of images show the job as any other.
 */

import { byId, FieldProblem } from './elements.js';
import { showImageCost, submitImage } from './image-submission.js';
import { fill, textsOf } from './texts.js';
import { onSubmit, toDataUri } from './work.js';

const t = textsOf('image-edit');
const PARTIAL_IMAGES = 1;
/** The sizes that every model makes. */
const SIZES = ['1024x1024', '1024x1536', '1536x1024', '1152x2048'];

/** Sizes and positions in pixels of the picture. */
type Part =
  | { kind: 'stroke'; size: number; points: { x: number; y: number }[]; erases: boolean }
  | { kind: 'rectangle'; x: number; y: number; width: number; height: number };

const picture = byId('edit-image', HTMLImageElement);
const canvas = byId('edit-canvas', HTMLCanvasElement);
const brush = byId('edit-brush', HTMLInputElement);
const news = byId('edit-news', HTMLElement);
const parts: Part[] = [];

function draw(): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  context.clearRect(0, 0, canvas.width, canvas.height);
  paint(context, getComputedStyle(document.documentElement).getPropertyValue('--accent').trim() || '#0b6b4a');
}

function paint(context: CanvasRenderingContext2D, colour: string): void {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  for (const part of parts) {
    context.globalCompositeOperation = part.kind === 'stroke' && part.erases ? 'destination-out' : 'source-over';
    if (part.kind === 'rectangle') {
      context.fillRect(part.x, part.y, part.width, part.height);
      continue;
    }
    const [first, ...rest] = part.points;
    if (!first) continue;
    context.lineWidth = part.size;
    context.beginPath();
    context.moveTo(first.x, first.y);
    for (const { x, y } of rest.length > 0 ? rest : [first]) context.lineTo(x, y);
    context.stroke();
  }
}

const painter = byId('edit-paint', HTMLButtonElement);
const boxer = byId('edit-box', HTMLButtonElement);
const eraser = byId('edit-erase', HTMLButtonElement);
const undo = byId('edit-undo', HTMLButtonElement);
const clear = byId('edit-clear', HTMLButtonElement);

function changed(): void {
  draw();
  for (const button of [undo, clear]) button.setAttribute('aria-disabled', String(parts.length === 0));
  news.textContent = fill(t.painted, { count: parts.length });
}

/** Opaque, and transparent where something was painted; undefined if nothing was. */
function maskOf(): string | undefined {
  if (parts.length === 0) return undefined;
  const [mask, painted] = [emptyCanvas(), emptyCanvas()];
  const [context, paintedContext] = [mask.getContext('2d'), painted.getContext('2d')];
  if (!context || !paintedContext) return undefined;
  paint(paintedContext, '#000');
  context.fillStyle = '#000';
  context.fillRect(0, 0, mask.width, mask.height);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(painted, 0, 0);
  return mask.toDataURL('image/png');
}

/** Of the size of the picture. */
function emptyCanvas(): HTMLCanvasElement {
  const made = document.createElement('canvas');
  made.width = canvas.width;
  made.height = canvas.height;
  return made;
}

function positionOf({ clientX, clientY }: PointerEvent): { x: number; y: number } {
  const box = canvas.getBoundingClientRect();
  return {
    x: ((clientX - box.left) / box.width) * canvas.width,
    y: ((clientY - box.top) / box.height) * canvas.height,
  };
}

function isPressed(tool: HTMLButtonElement): boolean {
  return tool.getAttribute('aria-pressed') === 'true';
}

function startPainting(): void {
  let drawn: Part | undefined;
  let start = { x: 0, y: 0 };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    start = positionOf(event);
    const size = (Number(brush.value) / 100) * Math.max(canvas.width, canvas.height);
    drawn = isPressed(boxer)
      ? { kind: 'rectangle', ...start, width: 0, height: 0 }
      : { kind: 'stroke', size, points: [start], erases: isPressed(eraser) };
    parts.push(drawn);
    draw();
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!drawn) return;
    const { x, y } = positionOf(event);
    if (drawn.kind === 'stroke') drawn.points.push({ x, y });
    else {
      drawn.x = Math.min(x, start.x);
      drawn.y = Math.min(y, start.y);
      drawn.width = Math.abs(x - start.x);
      drawn.height = Math.abs(y - start.y);
    }
    draw();
  });
  for (const type of ['pointerup', 'pointercancel'] as const) {
    canvas.addEventListener(type, () => {
      // A press alone is no rectangle.
      if (drawn?.kind === 'rectangle' && drawn.width * drawn.height === 0) parts.pop();
      if (drawn) changed();
      drawn = undefined;
    });
  }
}

for (const chosen of [painter, boxer, eraser]) {
  chosen.addEventListener('click', () => {
    for (const tool of [painter, boxer, eraser]) tool.setAttribute('aria-pressed', String(tool === chosen));
  });
}
undo.addEventListener('click', () => {
  parts.pop();
  changed();
});
clear.addEventListener('click', () => {
  parts.length = 0;
  changed();
});

onSubmit(byId('edit-rectangle', HTMLFormElement), async (fields) => {
  const [left = 0, top = 0, width = 0, height = 0] = ['left', 'top', 'width', 'height'].map((name) => {
    const text = String(fields.get(name)).trim().replace(',', '.');
    const value = /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= 0 && value <= 100)) throw new FieldProblem(t.badRectangle, name);
    return value / 100;
  });
  if (width === 0 || left + width > 1) throw new FieldProblem(t.badRectangle, 'width');
  if (height === 0 || top + height > 1) throw new FieldProblem(t.badRectangle, 'height');
  parts.push({
    kind: 'rectangle',
    x: left * canvas.width,
    y: top * canvas.height,
    width: width * canvas.width,
    height: height * canvas.height,
  });
  changed();
});

const form = byId('edit-form', HTMLFormElement);

function sizeOfEdit(): string {
  const size = `${canvas.width}x${canvas.height}`;
  return SIZES.includes(size) ? size : 'auto';
}

onSubmit(form, async (fields) => {
  const file = await (await fetch(picture.src)).blob();
  const image = await toDataUri(new File([file], 'image', { type: file.type }));
  const mask = maskOf();
  await submitImage({
    model: String(fields.get('model')),
    prompt: String(fields.get('prompt')),
    size: sizeOfEdit(),
    partial_images: PARTIAL_IMAGES,
    image,
    ...(mask !== undefined && { mask }),
  });
  location.assign('/images#gallery-title');
});
showImageCost(form, () => ({ size: sizeOfEdit(), count: 1 }));

startPainting();
