import { asArray, asNumber, asString, at, type Common, parseDuration } from 'mediagate';
import { shownText } from './text.js';

type Chapters = NonNullable<Common['chapters']>;

/** Chapters of the progress bar, else of the panel that lists them, else of the time stamps in the description. */
export function parseChapters(next: unknown, description: string | undefined): Chapters | undefined {
  const found = [() => ofProgressBar(next), () => ofPanels(next), () => ofDescription(description ?? '')];
  for (const read of found) {
    const chapters = read();
    if (chapters.length > 1) return chapters;
  }
  return undefined;
}

function ofProgressBar(next: unknown): Chapters {
  const bar = at(
    next,
    'playerOverlays',
    'playerOverlayRenderer',
    'decoratedPlayerBarRenderer',
    'decoratedPlayerBarRenderer',
  );
  const markers = asArray(at(bar, 'playerBar', 'multiMarkersPlayerBarRenderer', 'markersMap')) ?? [];
  const kinds = ['DESCRIPTION_CHAPTERS', 'AUTO_CHAPTERS'];
  const map = kinds.map((kind) => markers.find((marker) => at(marker, 'key') === kind)).find(Boolean);
  return (asArray(at(map, 'value', 'chapters')) ?? []).flatMap((item) => {
    const title = shownText(at(item, 'chapterRenderer', 'title'));
    const start = asNumber(at(item, 'chapterRenderer', 'timeRangeStartMillis'));
    return title && start !== undefined && start >= 0 ? [{ title, start_seconds: start / 1000 }] : [];
  });
}

function ofPanels(next: unknown): Chapters {
  for (const panel of asArray(at(next, 'engagementPanels')) ?? []) {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    const name = asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '';
    // The site's own "key moments" have a panel of the same shape; they divide nothing.
    if (!name.includes('macro-markers-description-chapters')) continue;
    return (asArray(at(renderer, 'content', 'macroMarkersListRenderer', 'contents')) ?? []).flatMap((item) => {
      const title = shownText(at(item, 'macroMarkersListItemRenderer', 'title'));
      const start = parseDuration(shownText(at(item, 'macroMarkersListItemRenderer', 'timeDescription')) ?? '');
      return title && start !== undefined ? [{ title, start_seconds: start }] : [];
    });
  }
  return [];
}

const STAMPED_LINE = /^[\s([•*-]*(\d{1,2}:\d{2}(?::\d{2})?)[\s)\]:–—|-]+(\S.*)/;

/** The site's own rule: at least three, in rising order, the first at zero. */
function ofDescription(description: string): Chapters {
  const chapters = description.split('\n').flatMap((line) => {
    const [, stamp, title] = STAMPED_LINE.exec(line) ?? [];
    const start = stamp === undefined ? undefined : parseDuration(stamp);
    return title && start !== undefined ? [{ title: title.trim(), start_seconds: start }] : [];
  });
  const rising = chapters.every((chapter, index) => chapter.start_seconds > (chapters[index - 1]?.start_seconds ?? -1));
  return chapters.length >= 3 && chapters[0]?.start_seconds === 0 && rising ? chapters : [];
}
