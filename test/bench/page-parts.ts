/** Invented words, sentences and scripts for the pages of the benchmarks. */

import type { Random } from './random.js';

export function range<Item>(count: number, item: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

/** Pieces until they are so many characters long together. */
function fill(length: number, piece: () => string): string {
  const pieces: string[] = [];
  for (let filled = 0; filled < length; filled += pieces.at(-1)?.length ?? length) pieces.push(piece());
  return pieces.join('');
}

/** A style sheet's text. */
export function styles(random: Random, length: number): string {
  return fill(
    length,
    () => `.${random.word(12)}{display:flex;margin:0 ${random.word(2)};color:var(--${random.word(10)})}`,
  );
}

/** Script text with the brackets and quotes that mislead a naive search. */
export function program(random: Random, length: number): string {
  return fill(
    length,
    () => `function ${random.word(6)}(a,b){if(a<b&&"${random.word(8)}"!=='}'){return {k:[a,"\\"{"]}}}\n`,
  );
}

/** JSON as it stands in a script: what could end the script or begin an entity is escaped. */
export function embeddable(data: unknown): string {
  return JSON.stringify(data).replace(/[&<>]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

export function jsonScript(data: unknown, attributes = ''): string {
  return `<script type="application/json"${attributes}>${embeddable(data)}</script>`;
}

/** What pages of Facebook and Instagram are to run, as they hold it. */
export function scheduledScript(required: readonly unknown[]): string {
  return jsonScript(
    { require: [['ScheduledServerJS', 'handle', null, [{ __bbox: { require: required } }]]] },
    ' data-content-len="1" data-sjs',
  );
}

/** Settings, module maps and the like: what pages carry besides their items, so many characters of it. */
export function modules(random: Random, length: number): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (let filled = 0; filled < length; filled += 120) {
    made[random.word(10)] = {
      type: 'js',
      src: `https://static.invented.example/${random.word(48)}.js`,
      c: 1,
      tsrc: [],
    };
  }
  return made;
}

export function query(random: Random, count: number): string {
  return range(count, () => `${random.word(4)}=${random.word(24)}`).join('&');
}
