/*
 * Verifies the media files of a document: asks the platform for the first bytes of each file that a person would
 * download, and for some bytes past its first minute, since some hosts refuse a file only there. A file is asked for as
 * a media link would be: with the headers and cookies of the visit, at the platform's media hosts alone. If a file of a
 * cached document is refused, the item is read again, and the answer has the new document with the outcomes of its own
 * files. A refused file is no failure of the request.
 */

import pLimit from 'p-limit';
import type { Clock, Extraction, ExtractionData, MediaCheck, MediaEntry } from '../../contracts/index.js';
import { mediaTypeOf, SNIFF_BYTES } from '../../media/index.js';
import { isGatewayError } from '../../runtime/index.js';
import type { Extracted, ExtractionService, Item } from '../extraction.js';
import { loadTracks } from '../video/load-tracks.js';
import { fetchManifest } from '../video/track-reader.js';
import type { Segment, Track } from '../video/tracks.js';
import { chooseVideo } from '../video/video-choice.js';
import { filesToCheck, MAX_CHECKED } from './checked-files.js';
import { entriesOf } from './media-links.js';
import { MediaReader, unavailable } from './media-reader.js';
import { headersOf, lacksVisit, type MediaSources } from './media-sources.js';

/** Of one document, and of all documents, at a time. */
const AT_ONCE = 4;
const ALL_AT_ONCE = 64;
/** Deadline of one file. */
const FILE_MS = 15_000;
const MINUTE = 60;
const PART_BYTES = 16 * 1024;
/** A host that sends no ranges is read up to here. */
const MAX_SKIPPED_BYTES = 1024 * 1024;

export interface MediaChecksOptions {
  sources: MediaSources;
  extraction: Pick<ExtractionService, 'refresh'>;
  clock: Clock;
}

/** Verifies media files of documents. */
export class MediaChecks {
  readonly #options: MediaChecksOptions;
  readonly #limit = pLimit(ALL_AT_ONCE);

  constructor(options: MediaChecksOptions) {
    this.#options = options;
  }

  /** What was extracted, with `checks`. @throws The signal's reason. */
  async verify(item: Item, extracted: Extracted, signal: AbortSignal | undefined): Promise<Extracted> {
    const { extraction } = extracted.cached;
    const checks = await this.#checksOf(item, extraction, signal);
    const isRefused = checks.some((check) => check && 'error' in check);
    // Cookies stay in the process that fetched the document, which may be another one of this machine.
    const isOld =
      extracted.cache === 'hit' || entriesOf(extraction.data).some((entry) => lacksVisit(extraction, entry));
    if (!isRefused || !isOld) return { ...extracted, checks };
    try {
      const renewed = await this.#options.extraction.refresh(item, signal);
      return { ...renewed, checks: await this.#checksOf(item, renewed.cached.extraction, signal) };
    } catch (error) {
      signal?.throwIfAborted();
      if (!isGatewayError(error)) throw error;
      return { ...extracted, checks };
    }
  }

  async #checksOf(item: Item, extraction: Extraction, signal: AbortSignal | undefined): Promise<(MediaCheck | null)[]> {
    const chosen = new Set(filesToCheck(extraction.data).slice(0, MAX_CHECKED));
    const limit = pLimit(AT_ONCE);
    return Promise.all(
      entriesOf(extraction.data).map((entry) =>
        chosen.has(entry) ? limit(() => this.#limit(() => this.#check({ item, extraction, entry }, signal))) : null,
      ),
    );
  }

  async #check(file: FileToCheck, left: AbortSignal | undefined): Promise<MediaCheck> {
    const { clock } = this.#options;
    left?.throwIfAborted();
    const begun = clock.monotonic();
    const ms = () => Math.round(clock.monotonic() - begun);
    const [late, ended] = [new AbortController(), new AbortController()];
    const endLate = () => late.abort(unavailable('The source did not send the file in time.'));
    clock.sleep(FILE_MS, ended.signal).then(endLate, () => undefined);
    const signal = left ? AbortSignal.any([left, late.signal]) : late.signal;
    try {
      await (file.entry.kind === 'manifest' ? this.#askManifest(file, signal) : this.#askFile(file, signal));
      return { ms: ms(), verifiedAt: new Date(clock.now()).toISOString() };
    } catch (error) {
      left?.throwIfAborted();
      if (!isGatewayError(error)) throw error;
      return { ms: ms(), error: { code: error.code, message: error.message } };
    } finally {
      ended.abort();
    }
  }

  async #askFile({ item, extraction, entry }: FileToCheck, signal: AbortSignal): Promise<void> {
    const hosts = this.#options.sources.hostsOf(item, signal);
    const source = { url: entry.url, headers: headersOf(item, extraction) };
    const reader = this.#readerOf(source, hosts, signal);
    try {
      const { size, head } = await reader.begin(SNIFF_BYTES);
      if (!mediaTypeOf(head, entry.kind)) throw unavailable('The source did not send a media file.', false);
      if (entry.kind !== 'video' && entry.kind !== 'audio') return;
      const at = positionPastMinute(size, entry.duration_seconds ?? secondsOf(extraction.data));
      await drain(reader.read(at, Math.min(size, at + PART_BYTES) - 1));
    } finally {
      reader.close();
    }
  }

  /** Of the manifest of the video, the parts past the first minute are asked for as well. */
  async #askManifest({ item, extraction, entry }: FileToCheck, signal: AbortSignal): Promise<void> {
    const hosts = this.#options.sources.hostsOf(item, signal);
    const fetch = { ...hosts, signal };
    const headers = headersOf(item, extraction);
    const { text } = await fetchManifest(fetch, { url: entry.url, headers });
    if (!/^\uFEFF?\s*#EXTM3U|<MPD[\s>]/.test(text)) throw unavailable('The source did not send a manifest.', false);
    const choice = chooseVideo(extraction.data, { container: 'mp4' });
    if (choice?.kind !== 'manifest' || choice.manifest !== entry) return;
    const { tracks } = await loadTracks({ extraction, headers, fetch, container: 'mp4' });
    for (const part of tracks.flatMap(partPastMinute)) {
      const reader = this.#readerOf({ url: part.url, headers }, hosts, signal);
      try {
        if (part.range) {
          const { start, end } = part.range;
          await drain(reader.read(start, Math.min(end, start + PART_BYTES - 1)));
        } else await reader.begin(SNIFF_BYTES);
      } finally {
        reader.close();
      }
    }
  }

  #readerOf(source: { url: string; headers: Readonly<Record<string, string>> }, hosts: Hosts, signal: AbortSignal) {
    const { clock } = this.#options;
    return new MediaReader({ ...hosts, source, clock, signal, maxSkippedBytes: MAX_SKIPPED_BYTES });
  }
}

type Hosts = ReturnType<MediaSources['hostsOf']>;

interface FileToCheck {
  item: Item;
  extraction: Extraction;
  entry: MediaEntry;
}

function secondsOf(data: ExtractionData): number | undefined {
  return 'common' in data ? data.common.duration_seconds : undefined;
}

/** Of a shorter file, or one of an unknown length, the last bytes. */
function positionPastMinute(size: number, seconds = 0): number {
  const last = Math.max(0, size - PART_BYTES);
  return seconds > MINUTE ? Math.min(last, Math.ceil((size * MINUTE) / seconds)) : last;
}

function partPastMinute({ segments }: Track): Segment[] {
  const part = segments.find(({ at, seconds }) => at + seconds > MINUTE) ?? segments.at(-1);
  return part ? [part] : [];
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}
