import type { ImageSize } from 'mediagate';
import type { Upstream } from './upstream.js';

/** What to ask an upstream for, and what to say about it where that is not what the caller asked for. */
export interface AskedSize {
  /** Absent: the upstream chooses. */
  size?: string;
  warning?: string;
}

/** The nearest shape that the upstream has; of equal shapes the smallest that is large enough. */
export function askedSize(size: ImageSize | 'auto', { sizes }: Pick<Upstream, 'sizes'>): AskedSize {
  if (size === 'auto') return sizes === 'any' ? { size } : {};
  const wanted = `${size.width}x${size.height}`;
  if (sizes === 'any' || sizes.includes(wanted)) return { size: wanted };
  const distance = (listed: string) => {
    const [width = 1, height = 1] = listed.split('x').map(Number);
    const shape = Math.abs(Math.log((width * size.height) / (height * size.width)));
    const scale = Math.log((width * height) / (size.width * size.height));
    // Shape first: what is cut off is lost, what is scaled is not. Too small is worse than too large.
    return shape * 100 + (scale < 0 ? -10 * scale : scale);
  };
  const [nearest] = [...sizes].sort((one, other) => distance(one) - distance(other));
  return { size: nearest, warning: `size: made as ${nearest}, since the upstream has no ${wanted}` };
}
