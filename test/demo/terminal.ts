/** The terminal of the demo: text, boxes and waits. */

import { styleText } from 'node:util';
import { createSpinner } from 'nanospinner';

const WIDTH = 96;
const LABEL_WIDTH = 10;

type Style = 'bold' | 'dim' | 'green' | 'red' | 'cyan';

/** Where the demo writes: colours on a terminal only, lines no wider than about a hundred columns. */
export interface Terminal {
  line(text?: string): void;
  heading(text: string): void;
  /** Something that takes a while: one line that changes; where nobody looks on, a line for each change. */
  wait(text: string): Wait;
  /** One box: a title with a note at its right end, and labelled rows. */
  box(box: Box): void;
  style(style: Style, text: string): string;
}

export interface Wait {
  update(text: string): void;
  /** Details behind the text that change often: shown only where the line can change. */
  progress(details: string): void;
  /** The line is taken away. */
  end(): void;
}

export interface Box {
  title: string;
  note: string;
  good: boolean;
  rows: readonly (readonly [label: string, text: string])[];
}

export function createTerminal(output: NodeJS.WriteStream): Terminal {
  const style = (name: Style, text: string) => (output.isTTY ? styleText(name, text) : text);
  const line = (text = '') => output.write(`${text}\n`);
  return {
    line,
    style,
    heading: (text) => line(`\n${style('bold', text)}`),
    // A terminal of no width cannot be drawn on.
    wait: (text) => (output.isTTY && output.columns > 0 ? spin(text, output) : list(text, line)),
    box({ title, note, good, rows }) {
      const shown = cut(title, WIDTH - note.length - 6);
      const filler = '─'.repeat(Math.max(1, WIDTH - shown.length - note.length - 6));
      line(`┌─ ${style('cyan', shown)} ${style('dim', filler)} ${style(good ? 'green' : 'red', note)}`);
      for (const [label, text] of rows) {
        line(`│ ${style('dim', label.padEnd(LABEL_WIDTH))} ${cut(text, WIDTH - LABEL_WIDTH - 3)}`);
      }
      line('└─');
    },
  };
}

function spin(text: string, stream: NodeJS.WriteStream): Wait {
  const spinner = createSpinner(cut(text, WIDTH), { stream }).start();
  let shown = text;
  return {
    update(next) {
      shown = next;
      spinner.update({ text: cut(next, WIDTH) });
    },
    progress: (details) => void spinner.update({ text: cut(`${shown}: ${details}`, WIDTH) }),
    end: () => void spinner.stop(),
  };
}

function list(text: string, line: (text: string) => void): Wait {
  let last = '';
  const update = (next: string) => {
    if (next !== last) line(`  ${next}`);
    last = next;
  };
  update(text);
  return { update, progress() {}, end() {} };
}

function cut(text: string, width: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > width ? `${flat.slice(0, Math.max(1, width - 1))}…` : flat;
}
