/*
 * Finds the files of items at their platforms: the item of a link, a document with which its file can be fetched, and a
 * reader of that file. A cached document is used while its addresses work; otherwise the item is resolved again.
 */

import type { Clock, Cue, Extraction, ExtractResult, LinkRef, MediaEntry } from '../../contracts/index.js';
import { parseSubtitles } from '../../media/index.js';
import type { HttpClients } from '../../net/index.js';
import type { PluginHost } from '../../plugins/index.js';
import type { ExtractionService, Item } from '../extraction.js';
import { defaultRequestOptions } from '../request-options.js';
import { readSubtitles } from '../subtitle-tracks.js';
import { entriesOf, fileIds, fileOf, filesOf } from './media-links.js';
import { MediaReader, type MediaSource, unavailable } from './media-reader.js';

/** Deadline of one client's transfer. */
export const TRANSFER_MS = 6 * 3_600_000;

export interface MediaSourcesOptions {
  extraction: ExtractionService;
  host: PluginHost;
  http: HttpClients;
  clock: Clock;
}

/** A file of an item, by its id of {@link fileIds}. */
export interface SourceFile {
  item: Item;
  extraction: Extraction;
  file: string;
}

/** The files of items at their platforms. */
export class MediaSources {
  readonly #options: MediaSourcesOptions;

  constructor(options: MediaSourcesOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `link_blocked`, `plugin_unavailable`. */
  itemOf(link: Pick<LinkRef, 'url' | 'access'>): Item {
    const { extraction } = this.#options;
    const target = extraction.signedTarget(link);
    return extraction.itemOf(target, defaultRequestOptions(target.extractor.contribution));
  }

  /**
   * A cached document with which the file can be fetched, or a new one.
   * @param file Its id, or {@link ARCHIVE}.
   */
  async extractionOf(item: Item, file: string, signal: AbortSignal): Promise<Extraction> {
    const { extraction } = this.#options;
    const usable = (await extraction.readUsable(item))?.cached.extraction;
    const entries = usable ? filesOf(usable.data, file) : [];
    if (usable && entries.length > 0 && !entries.some((entry) => lacksVisit(usable, entry))) return usable;
    return (await extraction.refresh(item, signal)).cached.extraction;
  }

  /** @param size Bytes of the file, if they are known. */
  readerOf(source: SourceFile, signal: AbortSignal, size?: number): MediaReader {
    const { clock } = this.#options;
    return new MediaReader({ ...this.#accessTo(source, signal), clock, signal }, size);
  }

  /**
   * The text of a subtitle track of an extracted item.
   * @throws GatewayError `media_unavailable`, what the platform answers about the item; the signal's reason.
   */
  async cuesOf({ link, data }: ExtractResult, track: MediaEntry, signal: AbortSignal): Promise<readonly Cue[]> {
    const entries = entriesOf(data);
    const file = fileIds(entries)[entries.indexOf(track)] ?? '';
    const item = this.itemOf(link);
    const extraction = await this.extractionOf(item, file, signal);
    const cues = parseSubtitles(await this.subtitles({ item, extraction, file }, signal));
    if (!cues) throw unavailable('The source did not send subtitles.', false);
    return cues;
  }

  /** Subtitles as the platform has them. @throws GatewayError `media_unavailable`; the signal's reason. */
  subtitles(source: SourceFile, signal: AbortSignal): Promise<Buffer> {
    return readSubtitles({ ...this.#accessTo(source, signal), signal });
  }

  /** A cached document whose addresses work from here, if there is one. */
  async cached(item: Item): Promise<Extraction | undefined> {
    const usable = (await this.#options.extraction.readUsable(item))?.cached.extraction;
    return usable && entriesOf(usable.data).some((entry) => lacksVisit(usable, entry)) ? undefined : usable;
  }

  /** A new document. */
  async refresh(item: Item, signal: AbortSignal): Promise<Extraction> {
    return (await this.#options.extraction.refresh(item, signal)).cached.extraction;
  }

  /** Where files of the item may be fetched. */
  hostsOf(item: Item, signal: AbortSignal) {
    const { host, http } = this.#options;
    const { contribution, entry } = item.extractor;
    const trustedOrigins = host.trustedOriginsOf(entry);
    return {
      http: http.scoped({ trustedOrigins, timeoutMs: TRANSFER_MS, signal }),
      mediaHosts: contribution.mediaHosts ?? [],
      trustedOrigins,
    };
  }

  /** Where the file is, and how it is reached. */
  #accessTo({ item, extraction, file }: SourceFile, signal: AbortSignal) {
    return {
      ...this.hostsOf(item, signal),
      source: sourceOf(item.extractor, extraction, fileOf(extraction.data, file)),
      renew: async (renewing: AbortSignal) => {
        const renewed = await this.refresh(item, renewing);
        return sourceOf(item.extractor, renewed, fileOf(renewed.data, file));
      },
    };
  }
}

/** Request headers with which the media hosts give files of a document. */
export function headersOf({ extractor }: Item, { mediaHeaders }: Extraction): Readonly<Record<string, string>> {
  return { ...extractor.contribution.mediaHeaders, ...mediaHeaders };
}

/** Whether the file is bound to cookies of a visit that another process made. */
export function lacksVisit({ mediaHeaders }: Extraction, { bound_to: bindings }: MediaEntry): boolean {
  return mediaHeaders === undefined && bindings?.includes('cookie') === true;
}

function sourceOf({ contribution }: Item['extractor'], { mediaHeaders }: Extraction, { url }: MediaEntry): MediaSource {
  return { url, headers: { ...contribution.mediaHeaders, ...mediaHeaders } };
}
