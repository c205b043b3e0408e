import { setImmediate } from 'node:timers/promises';
import type { HttpClient, Media } from '../contracts/index.js';
import type { ImageFiles } from '../media/index.js';
import { checkImage, IMAGE_CONTENT_TYPES } from '../media/index.js';
import { createAddressGuard, MAX_URL_LENGTH } from '../net/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { decodeDataUri, isDataUri } from './data-uri.js';
import { downloadImage } from './image-download.js';

/** Input images of one request at most. */
export const MAX_REFERENCES = 4;

/** An input image as the client sent it. */
export interface ReferenceInput {
  /** A public https URL, or a data URI. */
  value: string;
  /** The member it was sent in, e.g. `image_url` or `image[1]`. */
  param: string;
}

/** An input image that a request may be accepted with: bytes that have been looked at, or where they are to be had. */
export type Reference = { param: string } & ({ media: Media } | { url: string });

export interface References {
  /**
   * What can be said before a request is accepted, of all inputs in the caller's order. Nothing is fetched or decoded to
   * pixels; the event loop is free between two inputs.
   * @throws GatewayError with the `param` of the first that is wrong: `too_many_images`, `invalid_image_url`,
   *   `invalid_base64_image`, and as {@link checkImage} does.
   */
  check(inputs: readonly ReferenceInput[]): Promise<Reference[]>;
  /**
   * The images as a model gets them, in the same order, each as {@link ImageFiles.normalize} makes it. The first failure
   * ends what is under way for the others.
   * @throws GatewayError with the `param` of the one that failed: `failed_to_download_image`, `image_file_too_large`,
   *   `unsupported_image_media_type`, `invalid_image`, `image_too_large`, `queue_full`; the signal's reason.
   */
  load(references: readonly Reference[], signal: AbortSignal): Promise<Media[]>;
}

export interface ReferencesOptions {
  /** Guards every address; of no plugin entry. */
  http: HttpClient;
  images: ImageFiles;
  /** Private origins that an operator vouches for. They too are reached by https alone. Default: none. */
  trustedOrigins?: readonly string[];
}

export function createReferences({ http, images, trustedOrigins }: ReferencesOptions): References {
  const guard = createAddressGuard({ trustedOrigins });

  /** What the text shows; what its name resolves to is seen when it is fetched. */
  function checkUrl(text: string): string {
    // Long ones are not even parsed, which takes a while.
    const url = text.length > MAX_URL_LENGTH ? undefined : URL.parse(text);
    if (url?.protocol !== 'https:')
      throw invalidUrl(`It must be an https URL of at most ${MAX_URL_LENGTH} characters, or a data URI.`);
    try {
      guard.checkUrl(url);
    } catch (error) {
      throw isGatewayError(error) ? invalidUrl(error.message) : error;
    }
    return url.href;
  }

  async function fetchOne(reference: Reference, signal: AbortSignal): Promise<Media> {
    try {
      const bytes =
        'url' in reference ? await downloadImage({ http, url: reference.url, signal }) : reference.media.bytes;
      return await images.normalize(bytes, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw naming(reference, error);
    }
  }

  return {
    async check(inputs) {
      if (inputs.length > MAX_REFERENCES) {
        const message = `A request takes at most ${MAX_REFERENCES} input images; this one has ${inputs.length}.`;
        throw new GatewayError('too_many_images', message, { param: inputs[MAX_REFERENCES]?.param });
      }
      const references: Reference[] = [];
      for (const { value, param } of inputs) {
        if (references.length > 0) await setImmediate();
        try {
          references.push(isDataUri(value) ? { param, media: readDataUri(value) } : { param, url: checkUrl(value) });
        } catch (error) {
          throw naming({ param }, error);
        }
      }
      return references;
    },

    async load(references, signal) {
      const siblings = new AbortController();
      const either = AbortSignal.any([signal, siblings.signal]);
      try {
        return await Promise.all(references.map((reference) => fetchOne(reference, either)));
      } finally {
        siblings.abort(new GatewayError('interrupted', 'Another input image of the request could not be had.'));
      }
    },
  };
}

function readDataUri(uri: string): Media {
  const bytes = decodeDataUri(uri);
  return { bytes, contentType: IMAGE_CONTENT_TYPES[checkImage(bytes).type] };
}

function naming({ param }: { param: string }, error: unknown): unknown {
  return isGatewayError(error) ? error.with({ param }) : error;
}

function invalidUrl(why: string): GatewayError {
  return new GatewayError('invalid_image_url', `The image URL cannot be used. ${why}`);
}
