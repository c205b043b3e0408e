/*
 * Reads the bodies of `POST /v1/images/edits`, as the vendor's clients send them: a form with files, or JSON. Both
 * become the request of the other image routes with its input images, so that everything after it is the same. Input
 * images of the form or of `images` come first, then those of the shared fields; at most four are accepted. A mask that
 * cannot be understood is refused and never left out, since the whole image would change. Ids of stored files are
 * refused, because the gateway stores no files of clients.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import type { ReferenceInput } from '../../core/images/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  type FormFields,
  type FormFile,
  fieldOf,
  isFileForm,
  missing,
  useFileForm,
  useJsonBody,
} from '../http/index.js';
import {
  decodeStreamed,
  IMAGE_FIELDS,
  ImageBodySchema,
  limitReferences,
  MAX_IMAGE_BODY_BYTES,
  NUMBER_SETTINGS,
  type SizeRule,
} from './image-request.js';
import { imageBodyLimits, type UseImageBody } from './image-submission.js';

const { items: _, ...Shared } = ImageBodySchema.properties;
const FileSchema = Type.String({ contentMediaType: 'application/octet-stream' });
const MASK_TEXT =
  'Marks the part of the first input image to change, by its transparent pixels: a PNG file of the same size, with an alpha channel.';
const IMAGES = 'a list of objects with "image_url": an https link or a data URI';

/** Body in JSON. */
export const EditBodySchema = Type.Object({
  ...Shared,
  size: optional(Type.String(), 'Size in pixels, as of other images. Default "auto": the model chooses.'),
  response_format: optional(
    Type.Union([Type.Literal('url'), Type.Literal('b64_json')]),
    'Form of the result: a link, or the image in base64. Default: both.',
  ),
  images: optional(
    Type.Array(Type.Object({ image_url: field(Type.String(), 'An https link, or a data URI.') })),
    `Input images, before those of the other fields: ${IMAGES}.`,
  ),
  mask: optional(
    Type.Union([Type.Object({ image_url: field(Type.String(), 'An https link, or a data URI.') }), Type.String()]),
    MASK_TEXT,
  ),
});

export const EDIT_EXAMPLE = {
  model: 'gen-img-2',
  prompt: 'The same tug at night',
  images: [{ image_url: 'https://files.example/tug.png' }],
};

export const EDIT_FORM_EXAMPLE = { model: 'gen-img-2', prompt: 'The same tug at night', image: 'tug.png' };

/** Body as a form. */
export const EditFormSchema = Type.Object({
  ...Shared,
  size: EditBodySchema.properties.size,
  response_format: EditBodySchema.properties.response_format,
  image: optional(FileSchema, 'Input image: a file, or an https link as text. May be repeated up to 4 times.'),
  'image[]': optional(FileSchema, 'Another name of `image`.'),
  mask: optional(FileSchema, MASK_TEXT),
});

const IMAGE_FIELDS_OF_FORM = ['image', 'image[]'];
const MASK = 'mask';
/** A mask besides the input images, and the frame of the parts. */
const MAX_FORM_BYTES = MAX_IMAGE_BODY_BYTES;

/** Reads the body of an edit. */
export const useEditBody: UseImageBody = (server, context, submit) => {
  const { req: request, res: response } = context;
  const rule = { anySize: server.anyImageSize };
  const limits = imageBodyLimits(server, context, [...IMAGE_FIELDS, 'images']);
  if (!isFileForm(request)) {
    return useJsonBody(request, response, limits, ({ value, fingerprint }) =>
      submit({ ...decodeJson(value, rule), fingerprint }),
    );
  }
  const { budget, owner } = limits;
  const form = {
    maxBytes: MAX_FORM_BYTES,
    budget,
    owner,
    fileFields: [...IMAGE_FIELDS_OF_FORM, MASK],
    fingerprinted: true,
    exact: Object.keys(EditFormSchema.properties),
  };
  return useFileForm(request, response, form, ({ fields, files, fingerprint }) =>
    submit({ ...decodeForm(fields, files, rule), fingerprint }),
  );
};

type DecodedEdit = ReturnType<typeof decodeStreamed>;

function decodeJson({ images, mask, ...sent }: Readonly<Record<string, unknown>>, rule: SizeRule): DecodedEdit {
  return decodeEdit({ ...sent, mask: linkOf(mask) }, listImages(images ?? []), rule);
}

/** The vendor's form of a mask. A mask that is not understood is never left out: the whole image would change. */
function linkOf(mask: unknown): unknown {
  if (typeof mask !== 'object' || mask === null) return mask;
  const { image_url, file_id } = mask as Readonly<Record<string, unknown>>;
  if (typeof image_url === 'string') return image_url;
  if (file_id !== undefined && file_id !== null) throw noFiles(MASK);
  const param = Array.isArray(mask) ? MASK : `${MASK}.image_url`;
  const message = `${MASK} must be an https link or a data URI, or an object with one as "image_url".`;
  throw new GatewayError('invalid_value', message, { param });
}

function listImages(images: unknown): ReferenceInput[] {
  if (!Array.isArray(images)) throw new GatewayError('invalid_value', `images must be ${IMAGES}.`, { param: 'images' });
  return images.map((image: unknown, index) => {
    const at = `images[${index}]`;
    const { image_url: value, file_id } = Object(image) as Readonly<Record<string, unknown>>;
    if (typeof value === 'string') return { value, param: `${at}.image_url` };
    if (file_id !== undefined) throw noFiles(at);
    throw new GatewayError('invalid_value', `${at}.image_url must be an https link or a data URI.`, {
      param: `${at}.image_url`,
    });
  });
}

function noFiles(at: string): GatewayError {
  const message = `${at}.file_id is not supported, since the gateway stores no files of clients: send image_url.`;
  return new GatewayError('unsupported_parameter', message, { param: `${at}.file_id` });
}

/** Fields of a form are texts: what each of them stands for. */
const NUMBERS: ReadonlySet<string> = new Set(['n', 'output_compression', 'partial_images', ...NUMBER_SETTINGS]);
const FLAGS: ReadonlySet<string> = new Set(['stream', 'upload_to_storage']);
const LINKS: ReadonlySet<string> = new Set(['image', 'image_url', 'input_image']);

/** @throws GatewayError `invalid_value` for a field or a mask that is sent twice. */
function decodeForm(fields: FormFields, files: readonly FormFile[], rule: SizeRule): DecodedEdit {
  const sent: Record<string, unknown> = {};
  for (const name of fields.keys()) {
    const member = name.replace(/\[\]$/, '');
    if (LINKS.has(member))
      sent[member] = [fields.get(member) ?? [], fields.get(`${member}[]`) ?? []].flat().filter(Boolean);
    else sent[name] = readText(name, fieldOf(fields, name));
  }
  const masks = files.filter(({ field: name }) => name === MASK);
  if (masks.length > 1) throw new GatewayError('invalid_value', 'mask is sent twice.', { param: MASK });
  const images = files
    .filter(({ field: name }) => name !== MASK)
    .map(({ bytes }, index) => ({ value: bytes, param: `image[${index}]` }));
  const decoded = decodeEdit(sent, images, rule);
  const [mask] = masks;
  if (mask) decoded.image.mask = { value: mask.bytes, param: MASK };
  return decoded;
}

function readText(name: string, text: string | undefined): unknown {
  if (text === undefined) return null;
  if (NUMBERS.has(name) && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(text)) return Number(text);
  if (FLAGS.has(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** @param images Input images besides those of the shared fields; they come first. */
function decodeEdit(
  sent: Readonly<Record<string, unknown>>,
  images: readonly ReferenceInput[],
  rule: SizeRule,
): DecodedEdit {
  const { image, stream, ignored } = decodeStreamed({ ...sent, items: undefined, size: sent.size ?? 'auto' }, rule);
  const references = limitReferences([...images, ...image.references]);
  if (references.length === 0) missing('image', 'one to four images: files of a form, or links in "images"');
  // Clients of the vendor's format read the one, and those of this gateway the other.
  const isUnstated = sent.response_format === undefined || sent.response_format === null;
  const delivery = isUnstated && image.delivery === 'url' ? 'both' : image.delivery;
  return { image: { ...image, delivery, references }, stream, ignored };
}
