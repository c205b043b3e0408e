import { fileTooLarge, MAX_IMAGE_BYTES } from '../media/index.js';
import { GatewayError } from '../runtime/index.js';

/** What 10 MiB are in base64. */
const MAX_BASE64_LENGTH = Math.ceil(MAX_IMAGE_BYTES / 3) * 4;
/** `data:`, a label with some parameters, `;base64,`. */
const MAX_PREFIX_LENGTH = 256;

const PREFIX = /^data:image\/[a-z0-9.+-]+(?:;[^;,]*)*;base64,/i;

export function isDataUri(text: string): boolean {
  return /^data:/i.test(text);
}

/**
 * The bytes of a `data:image/<type>;base64,` URI. What the label says is not looked at. Takes about 10 ms for the largest.
 * @throws GatewayError `invalid_base64_image`, `image_file_too_large`.
 */
export function decodeDataUri(uri: string): Uint8Array {
  const prefix = PREFIX.exec(uri.slice(0, MAX_PREFIX_LENGTH))?.[0];
  if (prefix === undefined) {
    const message = 'The data URI is not of the form data:image/<type>;base64,<data>.';
    throw new GatewayError('invalid_base64_image', message);
  }
  if (uri.length - prefix.length > MAX_BASE64_LENGTH) throw fileTooLarge();
  const bytes = decodeBase64(uri.slice(prefix.length));
  if (!bytes) throw new GatewayError('invalid_base64_image', 'The data URI holds something that is not base64.');
  return bytes;
}

/** Undefined where there is anything but the letters of RFC 4648, 4, and at the end its padding. */
function decodeBase64(text: string): Uint8Array | undefined {
  const letters = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length;
  if (letters % 4 === 1 || (letters < text.length && text.length % 4 !== 0)) return undefined;
  // Node reads the letters of URLs as well, and of a wider character its lower half.
  if (text.includes('-') || text.includes('_') || Buffer.byteLength(text) !== text.length) return undefined;
  const bytes = Buffer.from(text, 'base64');
  // It leaves out what is no letter, and then there are fewer bytes than letters for them.
  return bytes.length === Math.floor((letters * 3) / 4) ? bytes : undefined;
}
