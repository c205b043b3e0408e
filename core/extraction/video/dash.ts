/*
 * Reads DASH manifests (ISO/IEC 23009-1): the representations of a recording with one period, and the parts of each, by
 * templates with numbers or times, by lists, or as one file. Nothing is fetched here. Running, protected and joined
 * recordings are refused with a reason; links to other documents are not followed.
 */

import { parseDuration } from '../scraping/dates.js';
import { absolute } from './hls.js';
import { type Offer, type Part, type Segment, type Track, unplayable } from './tracks.js';
import { parseXml, type XmlElement } from './xml.js';

/** A track to choose. */
export interface Representation extends Offer {
  mime: string;
  track(): Track;
}

const MAX_SEGMENTS = 50_000;
const MAX_REPRESENTATIONS = 500;

/** @throws GatewayError `media_unavailable` if it cannot be fetched to its end. */
export function readDash(text: string, base: string): Representation[] {
  const mpd = parseXml(text);
  if (mpd?.name !== 'MPD') throw unplayable('The source did not send a manifest.');
  if (mpd.attributes.type === 'dynamic') throw unplayable('The video is still running.', true);
  const [period, ...others] = childrenOf(mpd, 'Period');
  if (!period || others.length > 0) throw unplayable('The manifest does not have one period.');
  const seconds = secondsOf(period.attributes.duration) ?? secondsOf(mpd.attributes.mediaPresentationDuration);
  const place = baseOf(period, baseOf(mpd, base));
  const found = childrenOf(period, 'AdaptationSet').flatMap((set) =>
    childrenOf(set, 'Representation').map((one) => {
      const elements = [one, set, period];
      return representationOf(elements, { seconds, base: baseOf(one, baseOf(set, place)) });
    }),
  );
  if (found.length > MAX_REPRESENTATIONS) throw unplayable('The manifest has too many tracks.');
  return found;
}

interface Place {
  /** Of the period. */
  seconds: number | undefined;
  base: string;
}

/** @param elements The representation, and what it is within, from the inside out. */
function representationOf(elements: readonly XmlElement[], place: Place): Representation {
  const read = (name: string) =>
    elements.map(({ attributes }) => attributes[name]).find((value) => value !== undefined);
  return {
    mime: read('mimeType') ?? '',
    codecs: read('codecs'),
    height: numberOf(read('height')),
    bitrate: numberOf(read('bandwidth')),
    language: read('lang'),
    track() {
      if (elements.some((element) => childrenOf(element, 'ContentProtection').length > 0)) {
        throw unplayable('The video is protected.');
      }
      return trackOf(elements, place, read);
    },
  };
}

type Read = (name: string) => string | undefined;

function trackOf(elements: readonly XmlElement[], { seconds, base }: Place, read: Read): Track {
  const template = merged(elements, 'SegmentTemplate');
  const list = merged(elements, 'SegmentList');
  const described = template ?? list;
  if (!described) return { isFile: true, segments: [{ url: base, at: 0, seconds: seconds ?? 0 }] };
  const timeline = timesOf(described, seconds);
  const fill = (text: string, values: Record<string, number | undefined>) =>
    absolute(filled(text, { ...values, RepresentationID: read('id'), Bandwidth: numberOf(read('bandwidth')) }), base);
  if (template) return templateTrack(template, timeline, fill);
  return listTrack(described, timeline, base);
}

type Fill = (text: string, values: Record<string, number | undefined>) => string;

function templateTrack({ attributes }: XmlElement, times: readonly Time[], fill: Fill): Track {
  const { media, initialization } = attributes;
  if (!media) throw unplayable('The manifest has a track without addresses.');
  const first = numberOf(attributes.startNumber) ?? 1;
  const segments = times.map(({ at, seconds, time }, index): Segment => {
    return { url: fill(media, { Number: first + index, Time: time }), at, seconds };
  });
  return { segments, ...(initialization && { init: { url: fill(initialization, {}) } }) };
}

function listTrack(list: XmlElement, times: readonly Time[], base: string): Track {
  const segments = childrenOf(list, 'SegmentURL').flatMap(({ attributes }, index): Segment[] => {
    const time = times[index];
    if (!time) return [];
    return [{ ...partAt(attributes.media, attributes.mediaRange, base), at: time.at, seconds: time.seconds }];
  });
  const [init] = childrenOf(list, 'Initialization');
  const { sourceURL, range } = init?.attributes ?? {};
  return { segments, ...(init && { init: partAt(sourceURL, range, base) }) };
}

function partAt(url: string | undefined, range: string | undefined, base: string): Part {
  const [, start, end] = /^(\d{1,15})-(\d{1,15})$/.exec(range ?? '') ?? [];
  return {
    url: url === undefined ? base : absolute(url, base),
    ...(start !== undefined && { range: { start: Number(start), end: Number(end) } }),
  };
}

interface Time {
  at: number;
  seconds: number;
  /** In the units of the manifest. */
  time: number;
}

/** When the segments begin, from a timeline or from an equal length of all. */
function timesOf(described: XmlElement, whole: number | undefined): Time[] {
  const { attributes } = described;
  const scale = numberOf(attributes.timescale) || 1;
  const offset = numberOf(attributes.presentationTimeOffset) ?? 0;
  const toTime = (time: number, length: number) => ({ time, at: (time - offset) / scale, seconds: length / scale });
  const [timeline] = childrenOf(described, 'SegmentTimeline');
  if (timeline)
    return timelineOf(timeline, offset + (whole ?? 0) * scale).map(([time, length]) => toTime(time, length));
  const length = numberOf(attributes.duration) ?? 0;
  if (length === 0 || whole === undefined) throw unplayable('The manifest does not state how long its parts are.');
  const count = Math.ceil((whole * scale) / length - 0.001);
  if (count > MAX_SEGMENTS) throw unplayable('The manifest has too many segments.');
  return Array.from({ length: count }, (_, index) => toTime(offset + index * length, length));
}

/** Beginning and length of each segment. */
function timelineOf(timeline: XmlElement, end: number): [number, number][] {
  const times: [number, number][] = [];
  let time = 0;
  const entries = childrenOf(timeline, 'S');
  for (const [index, { attributes }] of entries.entries()) {
    time = numberOf(attributes.t) ?? time;
    const length = numberOf(attributes.d) ?? 0;
    if (length === 0) throw unplayable('The manifest does not state how long its parts are.');
    const stated = Number(attributes.r ?? 0);
    const until = numberOf(entries[index + 1]?.attributes.t) ?? end;
    const repeats = stated >= 0 ? stated : Math.ceil((until - time) / length) - 1;
    if (!(times.length + repeats < MAX_SEGMENTS)) throw unplayable('The manifest has too many segments.');
    for (let turn = 0; turn <= repeats; turn += 1, time += length) times.push([time, length]);
  }
  return times;
}

/** `$Number%05d$` and the like. */
function filled(text: string, values: Readonly<Record<string, string | number | undefined>>): string {
  return text.replace(/\$(?:(RepresentationID|Number|Time|Bandwidth)(?:%0(\d{1,2})d)?)?\$/g, (_whole, name, width) => {
    if (name === undefined) return '$';
    return String(values[name] ?? '').padStart(Number(width ?? 0), '0');
  });
}

/** An element of a representation with the attributes and children that outer ones state for it. */
function merged(elements: readonly XmlElement[], name: string): XmlElement | undefined {
  const found = elements.flatMap((element) => childrenOf(element, name));
  const [inner] = found;
  if (!inner) return undefined;
  const attributes = Object.assign({}, ...found.map((element) => element.attributes).reverse());
  const missing = (child: string) => childrenOf(inner, child).length === 0;
  const inherited = found.slice(1).flatMap(({ children }) => children.filter((child) => missing(child.name)));
  return { ...inner, attributes, children: [...inner.children, ...inherited] };
}

function baseOf(element: XmlElement, base: string): string {
  const text = childrenOf(element, 'BaseURL')[0]?.text.trim();
  return text ? absolute(text, base) : base;
}

function childrenOf({ children }: XmlElement, name: string): XmlElement[] {
  return children.filter((child) => child.name === name);
}

function secondsOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text.replace(/^P0Y(?:0M)?/, 'P'));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
