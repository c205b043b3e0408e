import { asArray, asNumber, asString, at } from 'mediagate';
import { shownText } from './renderer-text.js';

/**
 * The description as its owner wrote it. The page shortens the addresses in it and leads them through a redirect of its
 * own, which has the whole address.
 */
export function parseDescription(secondary: unknown): string | undefined {
  return ofAttributed(at(secondary, 'attributedDescription')) ?? ofRuns(at(secondary, 'description'));
}

/** Since 2022: a text, and commands for pieces of it. Pieces are counted in UTF-16 units. */
function ofAttributed(description: unknown): string | undefined {
  const content = asString(at(description, 'content'));
  if (content === undefined) return undefined;
  let text = '';
  let from = 0;
  for (const run of asArray(at(description, 'commandRuns')) ?? []) {
    const start = asNumber(at(run, 'startIndex'));
    const length = asNumber(at(run, 'length'));
    const target = targetOf(at(run, 'onTap', 'innertubeCommand'));
    if (target === undefined || start === undefined || length === undefined || start < from || length < 0) continue;
    text += content.slice(from, start) + target;
    from = start + length;
  }
  return shownText(text + content.slice(from));
}

function ofRuns(description: unknown): string | undefined {
  const runs = asArray(at(description, 'runs'));
  if (!runs) return shownText(description);
  return shownText(
    runs.map((run) => targetOf(at(run, 'navigationEndpoint')) ?? asString(at(run, 'text')) ?? '').join(''),
  );
}

/** The outside address that a piece leads to; names of channels, hashtags and time stamps have none. */
function targetOf(command: unknown): string | undefined {
  const address = asString(at(command, 'urlEndpoint', 'url'));
  if (!address || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const redirect = url.hostname.endsWith('youtube.com') && url.pathname === '/redirect';
  return redirect ? (url.searchParams.get('q') ?? undefined) : address;
}
