/*
 * Counts the pages of a PDF and collects their text, as an upper bound of what any reader may find there: also text
 * that is outside the page, invisible or in the appearance of a form field, `ActualText`, and text that is drawn
 * several times, as often as it is drawn. Of several versions of a part, the longest counts. A library that draws
 * pages would leave such text out, and it has no bound on the memory that a small file may take. Forms are read once,
 * so forms within forms cost no time.
 */

import { type ReadingLimits, TextJoiner, tooLarge, UnreadableDocument } from './limits.js';
import { type PdfFont, PLAIN_FONT, readFont } from './pdf-fonts.js';
import { PdfFile, type PdfStream } from './pdf-objects.js';
import { isDict, type PdfDict, PdfName, PdfReader, PdfText, type PdfValue, PdfWord } from './pdf-syntax.js';

export interface PdfContent {
  pages: number;
  text: string;
}

const MAX_PAGES = 20_000;
const MAX_TREE_DEPTH = 50;
const MAX_FORM_DEPTH = 20;
/** Numbers in a list of strings below this are spaces between words. */
const WORD_SPACE = -200;

/** @throws UnreadableDocument */
export function readPdf(bytes: Buffer, limits: ReadingLimits): PdfContent {
  const file = new PdfFile(bytes, limits);
  const texts = new PageTexts(file);
  let visits = 0;

  function readNode(node: PdfDict, inherited: readonly PdfDict[], depth: number): PdfContent {
    visits += 1;
    if (visits > 2 * MAX_PAGES || depth > MAX_TREE_DEPTH) throw tooLarge();
    const own = file.dicts(node.get('Resources'));
    const resources = own.length > 0 ? own : inherited;
    const kids = file.list(node.get('Kids'));
    if (kids.length === 0) return { pages: 1, text: `${texts.ofPage(node, resources)}\n` };
    const joiner = new TextJoiner();
    let pages = 0;
    for (const kid of kids) {
      const read = mostOf(file.dicts(kid).map((version) => readNode(version, resources, depth + 1)));
      pages += read.pages;
      joiner.add(read.text);
    }
    return { pages, text: joiner.join() };
  }

  const trees = file.roots().flatMap((root) => file.dicts(root.get('Pages')));
  const read = mostOf(trees.map((tree) => readNode(tree, [], 0)));
  if (read.pages === 0) throw new UnreadableDocument('is a PDF without a page that can be found');
  return read;
}

/** Of several versions of a part of a file, any may be the one that a reader takes. */
function mostOf(versions: readonly PdfContent[]): PdfContent {
  return versions.reduce(
    (most, one) => ({
      pages: Math.max(most.pages, one.pages),
      text: one.text.length > most.text.length ? one.text : most.text,
    }),
    { pages: 0, text: '' },
  );
}

/** The text of content streams. What is used again is read once, so that forms within forms cost no time. */
class PageTexts {
  readonly #fonts = new Map<PdfDict, PdfFont>();
  readonly #forms = new Map<PdfStream, string>();
  readonly #contents = new Map<string, string>();
  readonly #ids = new Map<object, number>();

  constructor(readonly file: PdfFile) {}

  ofPage(page: PdfDict, resources: readonly PdfDict[]): string {
    const { file } = this;
    const contents = page.get('Contents');
    const parts = file.list(contents);
    const streams = (parts.length > 0 ? parts : contents === undefined ? [] : [contents]).flatMap((one) =>
      file.streams(one),
    );
    const key = [...streams, ...resources].map((one) => this.#idOf(one)).join();
    const drawn = this.#contents.get(key) ?? this.#read(streams, resources, 0);
    this.#contents.set(key, drawn);
    const fields = file.list(page.get('Annots')).flatMap((one) => file.dicts(one));
    return drawn + fields.map((field) => this.#ofField(field)).join('');
  }

  #idOf(one: object): number {
    const known = this.#ids.get(one) ?? this.#ids.size;
    this.#ids.set(one, known);
    return known;
  }

  /** A field is shown as a form, or as one of several by its state. */
  #ofField(field: PdfDict): string {
    const { file } = this;
    const forms = file.dicts(field.get('AP')).flatMap((dict) => {
      const normal = dict.get('N');
      const streams = file.streams(normal);
      if (streams.length > 0) return streams;
      return file.dicts(normal).flatMap((states) => [...states.values()].flatMap((state) => file.streams(state)));
    });
    return forms.map((form) => this.#ofForm(form, [], 0)).join('');
  }

  #ofForm(form: PdfStream, inherited: readonly PdfDict[], depth: number): string {
    if (this.file.name(form.dict.get('Subtype')) === 'Image') return '';
    const known = this.#forms.get(form);
    if (known !== undefined) return known;
    if (depth > MAX_FORM_DEPTH) throw tooLarge();
    // A form within itself is not drawn.
    this.#forms.set(form, '');
    const own = this.file.dicts(form.dict.get('Resources'));
    const text = this.#read([form], own.length > 0 ? own : inherited, depth + 1);
    this.#forms.set(form, text);
    return text;
  }

  #read(streams: readonly PdfStream[], resources: readonly PdfDict[], depth: number): string {
    const content = streams.map((stream) => this.file.contentOf(stream)).join('\n');
    const reader = new PdfReader(content, 0, false);
    const joiner = new TextJoiner();
    let font = PLAIN_FONT;
    let operands: PdfValue[] = [];
    for (let value = reader.next(); value !== undefined; value = reader.next()) {
      if (!(value instanceof PdfWord)) {
        operands.push(value);
        continue;
      }
      const name = operands.findLast((one) => one instanceof PdfName)?.name;
      switch (value.word) {
        case 'Tf':
          font = this.#fontOf(this.#named(resources, 'Font', name));
          break;
        case 'Tj':
        case 'TJ':
        case "'":
        case '"':
          show(operands, font, joiner);
          break;
        case 'Do':
          for (const one of this.#named(resources, 'XObject', name)) {
            for (const form of this.file.streams(one)) joiner.add(this.#ofForm(form, resources, depth));
          }
          break;
        case 'BDC':
        case 'DP':
          for (const one of [...operands, ...this.#named(resources, 'Properties', name)]) this.#describe(one, joiner);
          break;
        case 'ID':
          skipImage(reader);
          break;
        case 'Td':
        case 'TD':
        case 'Tm':
        case 'T*':
        case 'ET':
          joiner.space();
      }
      operands = [];
    }
    return joiner.join();
  }

  #named(resources: readonly PdfDict[], kind: string, name: string | undefined): readonly PdfValue[] {
    if (name === undefined) return [];
    const dicts = resources.flatMap((one) => this.file.dicts(one.get(kind)));
    return dicts.flatMap((dict) => dict.get(name) ?? []);
  }

  #fontOf(values: readonly PdfValue[]): PdfFont {
    const versions = values.flatMap((one) => this.file.dicts(one)).map((dict) => this.#fontIn(dict));
    const [only = PLAIN_FONT] = versions;
    if (versions.length <= 1) return only;
    return {
      textOf: (bytes) =>
        versions.map((font) => font.textOf(bytes)).reduce((most, one) => (one.length > most.length ? one : most)),
    };
  }

  #fontIn(dict: PdfDict): PdfFont {
    const known = this.#fonts.get(dict) ?? readFont(this.file, dict);
    this.#fonts.set(dict, known);
    return known;
  }

  /** Text that stands for what is marked. */
  #describe(marked: PdfValue, joiner: TextJoiner): void {
    for (const dict of isDict(marked) ? [marked] : this.file.dicts(marked)) {
      for (const field of ['ActualText', 'Alt', 'E']) {
        for (const { value } of this.file.versions(dict.get(field))) {
          if (value instanceof PdfText) joiner.add(` ${textOf(value)}`);
        }
      }
    }
  }
}

/** A text in UTF-16 has a mark; others have one byte for each letter. */
function textOf({ bytes }: PdfText): string {
  if (!bytes.startsWith('\xfe\xff')) return bytes;
  const whole = bytes.length % 2 === 0 ? bytes : `${bytes}\0`;
  return Buffer.from(whole.slice(2), 'latin1').swap16().toString('utf16le');
}

function show(operands: readonly PdfValue[], font: PdfFont, joiner: TextJoiner): void {
  for (const operand of operands) {
    if (operand instanceof PdfText) joiner.add(font.textOf(operand.bytes));
    else if (typeof operand === 'number' && operand < WORD_SPACE) joiner.space();
    else if (Array.isArray(operand)) show(operand, font, joiner);
  }
}

/** The bytes of an image within a content stream are no operators. */
function skipImage(reader: PdfReader): void {
  const end = /\sEI(?=\s|$)/g;
  end.lastIndex = reader.at;
  const found = end.exec(reader.text);
  reader.at = found ? found.index + found[0].length : reader.text.length;
}
