/** Texts that break layouts: right to left, emoji of several parts, and 300 characters without a space. */

const HEBREW = 'שלום עולם';
const EMOJI = '👩‍👩‍👧‍👦🏳️‍🌈👍🏽';

/** Right to left at its beginning, then everything else. Each has 300 characters or more. */
export const AWKWARD_TEXTS = {
  rightToLeft: `${HEBREW} ${EMOJI} ${'صورة'.repeat(70)}`,
  unbroken: `${'W'.repeat(150)}${EMOJI.repeat(4)}${'_'.repeat(150)}`,
} as const;
