/*
 * Colours of pages: contrast by WCAG 2, and mixtures. Colours are `#rrggbb` in lower case.
 */

/** Whether a text is a colour: `#0b6b4a`. */
export function isColour(text: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(text);
}

/** From 1 to 21; texts need 4.5. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** @param share Of the second colour, from 0 to 1. */
export function mixColours(one: string, other: string, share: number): string {
  const [from, to] = [channels(one), channels(other)];
  const mixed = from.map((value, index) => Math.round(value + ((to[index] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
