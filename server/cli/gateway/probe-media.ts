/*
 * The part of the live probe that reads whole documents and asks for their media files, as a request with `verify_media`
 * does: one row for each file that a person would download.
 */

import type { Gateway } from 'mediagate';
import type { MediaEntry } from '../../../core/contracts/index.js';
import { isGatewayError, systemClock } from '../../../core/runtime/index.js';
import { renderTable, sanitizeForTerminal } from '../../format/index.js';

/** One file of a link, or the link itself if it has none. */
export interface MediaTrial {
  platform: string;
  url: string;
  /** `ok`, or the error code of a link that cannot be read. */
  document: string;
  /** `extraction_method` of the document; null without one. */
  method: string | null;
  /** What the file is: `video 720p`. Null if there is none to ask for. */
  file: string | null;
  /** `info`: nothing is expected of the link. */
  level: 'ok' | 'fail' | 'info';
  /** `ok`, `no files`, or the error code. */
  status: string;
  /** Whole milliseconds: of the file, or without one of the document. */
  ms: number;
  /** Why it failed. */
  reason?: string;
}

interface MediaTarget {
  platform: string;
  url: string;
  /** Whether the link should have a document and files that can be fetched. */
  isExpected: boolean;
}

/** Reads the document of a link and asks for its files. */
export async function tryMedia(gateway: Gateway, target: MediaTarget): Promise<MediaTrial[]> {
  const { platform, url, isExpected } = target;
  const begun = systemClock.monotonic();
  const levelOf = (isGood: boolean) => (isGood ? 'ok' : isExpected ? 'fail' : 'info');
  try {
    const { data, method, checks = [] } = await gateway.extract({ url, verifyMedia: true });
    const entries = ('product' in data ? data.product.media : data.media.entries) ?? [];
    const document = { platform, url, document: 'ok', method };
    const trials = entries.flatMap((entry, index): MediaTrial[] => {
      const check = checks[index];
      if (!check) return [];
      const file = { ...document, file: describeFile(entry), ms: Math.round(check.ms) };
      if (!('error' in check)) return [{ ...file, level: 'ok', status: 'ok' }];
      const { code, message } = check.error;
      return [{ ...file, level: levelOf(false), status: code, reason: message }];
    });
    if (trials.length > 0) return trials;
    const ms = Math.round(systemClock.monotonic() - begun);
    return [{ ...document, file: null, level: levelOf(true), status: 'no files', ms }];
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { code, reason = error.message } = error;
    const ms = Math.round(systemClock.monotonic() - begun);
    return [
      { platform, url, document: code, method: null, file: null, level: levelOf(false), status: code, ms, reason },
    ];
  }
}

function describeFile({ kind, height, width, quality, language, label }: MediaEntry): string {
  const size = kind === 'image' ? width && height && `${width}x${height}` : height && `${height}p`;
  return [kind, size || quality, language, label].filter(Boolean).join(' ');
}

export function renderMedia(trials: readonly MediaTrial[]): string {
  const rows = trials.map(({ level, platform, url, document, method, file, status, ms, reason }) =>
    [
      level,
      platform,
      shortLink(url),
      document,
      shortened(method ?? '', MAX_METHOD_LENGTH),
      file,
      status,
      String(ms),
      reason,
    ].map((cell) => sanitizeForTerminal(cell ?? '')),
  );
  const table = renderTable(['', 'PLATFORM', 'LINK', 'DOCUMENT', 'METHOD', 'FILE', 'STATUS', 'MS', ''], rows);
  const files = trials.filter(({ file }) => file !== null);
  const refused = files.filter(({ status }) => status !== 'ok').length;
  const unread = new Set(trials.filter(({ document }) => document !== 'ok').map(({ url }) => url)).size;
  const summary = [
    refused === 0
      ? `All ${files.length} files can be fetched.`
      : `${refused} of ${files.length} files cannot be fetched.`,
    ...(unread > 0 ? [`Documents that cannot be read: ${unread}.`] : []),
  ];
  return `${table}\n\n${summary.join(' ')}`;
}

const MAX_LINK_LENGTH = 48;
const MAX_METHOD_LENGTH = 24;

function shortLink(url: string): string {
  return shortened(url.replace(/^https?:\/\/(?:www\.)?/, ''), MAX_LINK_LENGTH);
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
