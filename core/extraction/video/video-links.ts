/*
 * Links to merged videos. A link is a signed name of the item's canonical URL and of the key that it was made for, as a
 * media link is, and as long valid. Its ending says the container; what is merged is chosen when it is opened.
 */

import type { ExtractionData, LinkRef, MediaLinkOptions, VideoLink } from '../../contracts/index.js';
import type { MediaTarget } from '../media/media-links.js';
import { TTL_MS } from '../media/media-links.js';
import { SignedNames } from '../media/signed-names.js';
import { chooseVideo, videoContainers } from './video-choice.js';

export type VideoTarget = Omit<MediaTarget, 'file'>;

/** Creates and reads links to merged videos. */
export class VideoLinks {
  readonly #options: Pick<MediaLinkOptions, 'baseUrl'>;
  readonly #names: SignedNames;

  constructor(options: MediaLinkOptions) {
    this.#options = options;
    this.#names = new SignedNames({ secrets: options.secrets, purpose: 'video', ttlMs: TTL_MS });
  }

  /** Undefined if the document has no video. */
  sign(data: ExtractionData, { url, access = '', issuer }: LinkRef & VideoTarget, now: number): VideoLink | undefined {
    const [first, ...others] = videoContainers(data);
    if (!first) return undefined;
    const { name, expiresAt } = this.#names.sign([issuer, url, access].join(' '), now);
    const address = (container: string) => `${this.#options.baseUrl}/v1/extract/video/${name}.${container}`;
    const urls = Object.fromEntries([first, ...others].map((container) => [container, address(container)]));
    return {
      url: address(first),
      expiresAt: new Date(expiresAt).toISOString(),
      urls,
      isMerged: chooseVideo(data, { container: first })?.kind !== 'file',
    };
  }

  /**
   * What a name was signed for.
   * @throws GatewayError `file_not_found` if it was not signed here, `link_expired` if it has expired.
   */
  open(name: string, now: number): { target: VideoTarget; expiresAt: number } {
    const { text, expiresAt } = this.#names.open(name, now);
    const [issuer = '', url = '', ...access] = text.split(' ');
    const token = access.join(' ');
    return { target: { issuer, url, ...(token !== '' && { access: token }) }, expiresAt };
  }
}
