import { type Members, membersAt, nameAt, optional, refuse, refuseUnable, textAt } from './sent.js';

/** What can stand beside each other in a turn, or in the result of a tool. */
export type Part =
  | { type: 'text'; text: string }
  /** `url` is an address, or a data URI. */
  | { type: 'image'; url: string }
  /** `data` is a data URI. */
  | { type: 'file'; name: string; data: string }
  | { type: 'file_link'; url: string; place: string };

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const PDF = 'application/pdf';
/** The format of the models wants one; the title is told beside it. */
const FILE_NAME = 'document.pdf';

/** Reads a block of text, an image or a document. */
type ReadPart = (block: Members, place: string) => readonly Part[];

const PARTS: Readonly<Record<string, ReadPart>> = {
  text: (block, place) => [readText(block, place)],
  image: (block, place) => [readImage(block, place)],
  document: readDocument,
};

/** Of a content that is a bare text, or a list of blocks. */
export function blocksOf(content: unknown, place: string): readonly (readonly [block: Members, place: string])[] {
  if (typeof content === 'string') return content === '' ? [] : [[{ type: 'text', text: content }, place]];
  if (!Array.isArray(content)) refuse(place, 'a text or a list of content blocks');
  return content.map((block, index) => {
    const at = `${place}.${index}`;
    return [membersAt(block, at), at] as const;
  });
}

export function readText({ text }: Members, place: string): Part & { type: 'text' } {
  return { type: 'text', text: textAt(text, `${place}.text`) };
}

/** Reads a text, an image or a document. @throws GatewayError `unsupported_value` naming a block that is none of them. */
export function readPart(block: Members, place: string): readonly Part[] {
  const { type } = block;
  const read = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return read ? read(block, place) : refuseBlock(block, place);
}

export function refuseBlock({ type }: Members, place: string): never {
  if (typeof type !== 'string') refuse(`${place}.type`, 'the type of a content block');
  refuseUnable(place, `a block of the type ${JSON.stringify(type.slice(0, 100))} cannot be passed on from here`);
}

function readImage({ source }: Members, place: string): Part {
  const at = `${place}.source`;
  const { type, ...rest } = membersAt(source, at);
  if (type === 'url') return { type: 'image', url: addressAt(rest.url, `${at}.url`) };
  if (type === 'base64') {
    const mediaType =
      IMAGE_TYPES.find((one) => one === rest.media_type) ??
      refuse(`${at}.media_type`, `one of ${IMAGE_TYPES.join(', ')}`);
    return { type: 'image', url: `data:${mediaType};base64,${nameAt(rest.data, `${at}.data`)}` };
  }
  return refuseSource(type, at, 'base64 or url');
}

function readDocument({ source, title, context }: Members, place: string): readonly Part[] {
  const at = `${place}.source`;
  const { type, ...rest } = membersAt(source, at);
  const words = [optional(title, `${place}.title`, textAt), optional(context, `${place}.context`, textAt)].filter(
    Boolean,
  );
  const about: Part[] = words.length > 0 ? [{ type: 'text', text: words.join('\n') }] : [];
  if (type === 'text') return [...about, { type: 'text', text: textAt(rest.data, `${at}.data`) }];
  if (type === 'content') return [...about, ...readNested(rest.content, `${at}.content`)];
  if (type === 'url') return [...about, { type: 'file_link', url: addressAt(rest.url, `${at}.url`), place }];
  if (type === 'base64') {
    if (rest.media_type !== PDF) refuse(`${at}.media_type`, PDF);
    return [...about, { type: 'file', name: FILE_NAME, data: `data:${PDF};base64,${nameAt(rest.data, `${at}.data`)}` }];
  }
  return refuseSource(type, at, 'base64, url, text or content');
}

function readNested(content: unknown, place: string): readonly Part[] {
  return blocksOf(content, place).flatMap(([block, at]) => {
    if (block.type === 'text') return [readText(block, at)];
    return block.type === 'image' ? [readImage(block, at)] : refuseBlock(block, at);
  });
}

function refuseSource(type: unknown, place: string, accepted: string): never {
  if (type === 'file') refuseUnable(place, `no files are kept here; send it as ${accepted}`);
  refuse(`${place}.type`, accepted);
}

function addressAt(value: unknown, place: string): string {
  return typeof value === 'string' && /^https?:\/\/./i.test(value) ? value : refuse(place, 'an http or https address');
}
