/*
 * Reads the elements of a small XML document, within limits and in linear time. Comments and instructions are left out;
 * a document type is refused, since its entities may grow without bounds.
 */

export interface XmlElement {
  /** Without a namespace. */
  name: string;
  attributes: Readonly<Record<string, string | undefined>>;
  children: XmlElement[];
  text: string;
}

const MAX_DEPTH = 20;
const MAX_ELEMENTS = 100_000;

/** Undefined if it is not well-formed, or too large. */
export function parseXml(text: string): XmlElement | undefined {
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  let count = 0;
  let at = 0;
  for (;;) {
    const start = text.indexOf('<', at);
    const parent = open.at(-1) as XmlElement;
    if (start < 0) break;
    parent.text += decodeReferences(text.slice(at, start));
    const comment = text.startsWith('<!--', start);
    const end = text.indexOf(comment ? '-->' : '>', start);
    if (end < 0 || (!comment && text[start + 1] === '!')) return undefined;
    at = end + (comment ? 3 : 1);
    if (comment || text[start + 1] === '?') continue;
    const tag = text.slice(start + 1, end);
    if (tag.startsWith('/')) {
      if (open.length === 1 || localName(tag.slice(1)) !== parent.name) return undefined;
      open.pop();
      continue;
    }
    count += 1;
    if (count > MAX_ELEMENTS || open.length > MAX_DEPTH) return undefined;
    const element = { name: localName(tag), attributes: readAttributes(tag), children: [], text: '' };
    parent.children.push(element);
    if (!tag.endsWith('/')) open.push(element);
  }
  return open.length === 1 ? root.children[0] : undefined;
}

function localName(tag: string): string {
  return /^(?:[\w.-]{1,40}:)?([\w.-]{1,60})/.exec(tag)?.[1] ?? '';
}

function readAttributes(tag: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = '', value = ''] of tag.matchAll(/\s([\w.:-]{1,60})=("[^"]*"|'[^']*')/g)) {
    found[name] = decodeReferences(value.slice(1, -1));
  }
  return found;
}

const REFERENCES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The five references that XML has without a document type, and numbers. */
function decodeReferences(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return REFERENCES[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : whole;
  });
}
