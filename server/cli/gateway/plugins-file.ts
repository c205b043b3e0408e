/*
 * Changes a plugins file as a person would: a value is inserted into the text, and every other byte stays, including
 * the order and the format of the rest. New lines get the indentation and the line ends of their surroundings. The file
 * is replaced in one step, so a gateway that starts meanwhile reads the old one or the new one, and nothing is written
 * if another program changed it in between.
 */

import { randomBytes } from 'node:crypto';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { literalEnd } from '../../../core/runtime/index.js';
import { CommandFailure } from '../mistakes.js';

/** Path of a value: names of fields and indexes of lists. */
type JsonPath = readonly (string | number)[];

/** A value in the text: offsets of its first character and behind its last one. */
interface Span {
  start: number;
  end: number;
}

/** Columns of a line, as the formatter of this project has them. */
const MAX_WIDTH = 120;

/**
 * Inserts a value at the end of a list.
 * @param text Valid JSON.
 * @throws Error if there is no list at the path.
 */
export function appendToList(text: string, path: JsonPath, value: unknown): string {
  const list = find(text, path);
  if (text[list.start] !== '[') throw new Error('there is no list at this path');
  const items = itemsOf(text, list);
  const [first, last] = [items[0], items.at(-1)];
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  if (!first || !last) {
    const indent = indentAt(text, list.start);
    const inner = render(value, { indent: indent + unit, unit, newline });
    return splice(text, list.start + 1, list.end - 1, `${newline}${indent}${unit}${inner}${newline}${indent}`);
  }
  const isInLines = text.slice(list.start, first.start).includes('\n');
  const indent = indentAt(text, first.start);
  const separator = isInLines ? `,${newline}${indent}` : ', ';
  return splice(text, last.end, last.end, separator + render(value, { indent, unit, newline }));
}

/**
 * Replaces a file in one step, with the same permissions.
 * @throws CommandFailure if it has changed since `before` was read, or cannot be written.
 */
export async function replaceFile(file: string, before: string, after: string): Promise<void> {
  const target = await realpath(file);
  const draft = `${target}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const { mode } = await stat(target);
    const handle = await open(draft, 'wx', mode & 0o777);
    try {
      await handle.writeFile(after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if ((await readFile(target, 'utf8')) !== before) {
      throw new CommandFailure(`${file} was changed meanwhile. Nothing was written; repeat the command.`);
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    if (error instanceof CommandFailure || !(error instanceof Error)) throw error;
    throw new CommandFailure(`${file} cannot be written: ${error.message}.`);
  }
}

function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

/** White space at the beginning of the line. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

interface RenderOptions {
  /** Of the line that the value begins in. */
  indent: string;
  /** Characters before the value in its line, without the indentation. Default 0. */
  before?: number;
  unit: string;
  newline: string;
}

/** JSON in one line if it fits, otherwise with one field or item in each line. */
function render(value: unknown, { indent, before = 0, unit, newline }: RenderOptions): string {
  const line = renderLine(value);
  if (typeof value !== 'object' || value === null || indent.length + before + line.length < MAX_WIDTH) return line;
  const inner = { indent: indent + unit, unit, newline };
  const lines = Array.isArray(value)
    ? value.map((item) => render(item, inner))
    : Object.entries(value).map(([name, field]) => {
        const start = `${JSON.stringify(name)}: `;
        return start + render(field, { ...inner, before: start.length });
      });
  const [begin, end] = Array.isArray(value) ? '[]' : '{}';
  return `${begin}${newline}${inner.indent}${lines.join(`,${newline}${inner.indent}`)}${newline}${indent}${end}`;
}

function renderLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${renderLine(field)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** @throws Error if there is nothing at the path. */
function find(text: string, path: JsonPath): Span {
  let found = valueAt(text, 0);
  for (const step of path) {
    const next = typeof step === 'number' ? itemsOf(text, found)[step] : fieldsOf(text, found).get(step);
    if (!next) throw new Error('there is nothing at this path');
    found = next;
  }
  return found;
}

function itemsOf(text: string, { start }: Span): Span[] {
  const items: Span[] = [];
  for (let offset = skip(text, start + 1); text[offset] !== ']'; offset = skip(text, offset)) {
    const item = valueAt(text, offset);
    items.push(item);
    offset = item.end;
  }
  return items;
}

/** Of two fields with the same name, the last one counts, as for `JSON.parse`. */
function fieldsOf(text: string, { start }: Span): Map<string, Span> {
  const fields = new Map<string, Span>();
  for (let offset = skip(text, start + 1); text[offset] !== '}'; offset = skip(text, offset)) {
    const name = valueAt(text, offset);
    const value = valueAt(text, name.end);
    fields.set(JSON.parse(text.slice(name.start, name.end)), value);
    offset = value.end;
  }
  return fields;
}

/** The value that begins after white space, commas and colons. */
function valueAt(text: string, offset: number): Span {
  const start = skip(text, offset);
  if (text[start] === '{' || text[start] === '[') return { start, end: literalEnd(text, start) ?? text.length };
  const scalar = /"(?:[^"\\]|\\.)*"|[^ \t\r\n,\]}]*/y;
  scalar.lastIndex = start;
  return { start, end: start + (scalar.exec(text)?.[0].length ?? 0) };
}

function skip(text: string, offset: number): number {
  let next = offset;
  while (next < text.length && ' \t\r\n,:'.includes(text[next] ?? '')) next++;
  return next;
}
