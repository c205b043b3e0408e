import { setImmediate as breathe } from 'node:timers/promises';
import { type Colour, mix, type Palette } from './palette.js';
import { createNoise, type Random } from './random.js';
import type { Scene } from './scene.js';

/** Colour as three bytes a pixel, row by row. */
export interface Wash {
  width: number;
  height: number;
  pixels: Uint8Array;
}

export interface WashOptions {
  /** The whole picture in pixels; the wash is smaller, since it has no sharp edges. */
  width: number;
  height: number;
  /** Height of the scene at the top; below it is bare paper. */
  sceneHeight: number;
  /** Bare paper around the scene, in pixels. */
  margin: number;
  scene: Scene;
  palette: Palette;
  random: Random;
  signal: AbortSignal;
}

const SHORT_SIDE = 240;
const ROWS_AT_ONCE = 8;

/** Watercolour under the ink: uneven, and lighter towards its edges. @throws the signal's reason. */
export async function paintWash(options: WashOptions): Promise<Wash> {
  const { scene, palette, margin, sceneHeight, random } = options;
  const scale = Math.min(1, SHORT_SIDE / Math.min(options.width, options.height));
  const width = Math.max(1, Math.round(options.width * scale));
  const height = Math.max(1, Math.round(options.height * scale));
  const noise = createNoise(random);
  const pixels = new Uint8Array(width * height * 3);
  const unit = Math.min(options.width, options.height);
  for (let row = 0; row < height; row++) {
    if (row % ROWS_AT_ONCE === 0) {
      await breathe();
      options.signal.throwIfAborted();
    }
    for (let column = 0; column < width; column++) {
      const [x, y] = [(column + 0.5) / scale, (row + 0.5) / scale];
      const cloud = noise((x / unit) * 4, (y / unit) * 4) * 0.6 + noise((x / unit) * 13, (y / unit) * 13) * 0.4;
      const colour = colourAt(x, y, cloud);
      for (let channel = 0; channel < 3; channel++) pixels[(row * width + column) * 3 + channel] = colour[channel] ?? 0;
    }
  }
  return { width, height, pixels };

  function colourAt(x: number, y: number, cloud: number): Colour {
    // The brush does not stop along a straight line.
    const ragged = cloud * margin * 0.35;
    const inside = Math.min(x - margin, options.width - margin - x, y - margin, sceneHeight - y) + ragged;
    if (inside <= 0) return palette.paper;
    const strength = Math.min(1, inside / (margin * 0.3)) * (0.86 + cloud * 0.2);
    return mix(palette.paper, paintAt(x, y, cloud), Math.max(0, Math.min(1, strength)));
  }

  function paintAt(x: number, y: number, cloud: number): Colour {
    for (let index = scene.ridges.length - 1; index >= 0; index--) {
      const top = scene.ridges[index]?.(x) ?? 0;
      const land = palette.land[index];
      if (land && y > top)
        return mix(land, palette.paper, Math.max(0, 0.3 - ((y - top) / sceneHeight) * 1.5) + cloud * 0.12);
    }
    const { sun } = scene;
    const distance = Math.hypot(x - sun.x, y - sun.y) / sun.radius;
    if (distance < 1.02) return palette.sun;
    const glow = Math.max(0, 1 - (distance - 1) / 3.5) ** 2;
    const sky = mix(palette.sky, palette.paper, Math.min(0.75, (y / sceneHeight) * 0.9 + cloud * 0.25));
    return mix(sky, palette.sun, glow * 0.45);
  }
}
