import { asArray, asNumber, asString, at } from 'mediagate';
import { shownText } from './text.js';

/**
 * The description as its owner wrote it. The page shortens the addresses in it and leads them through a redirect of its
 * own, which has the whole address.
 */
export function parseDescription(secondary: unknown): string | undefined {
  return parseAttributed(at(secondary, 'attributedDescription')) ?? ofRuns(at(secondary, 'description'));
}

/** Since 2022: a text, and commands for pieces of it. Pieces are counted in UTF-16 units. */
export function parseAttributed(description: unknown): string | undefined {
  const content = asString(at(description, 'content'));
  if (content === undefined) return undefined;
  let text = '';
  let from = 0;
  for (const run of asArray(at(description, 'commandRuns')) ?? []) {
    const start = asNumber(at(run, 'startIndex'));
    const length = asNumber(at(run, 'length'));
    if (start === undefined || length === undefined || start < from || length < 0) continue;
    const shown = content.slice(start, start + length);
    text += content.slice(from, start) + (targetOf(at(run, 'onTap', 'innertubeCommand'), shown) ?? shown);
    from = start + length;
  }
  return shownText((text + content.slice(from)).replace(SET_APART, '$1'));
}

function ofRuns(description: unknown): string | undefined {
  const runs = asArray(at(description, 'runs'));
  if (!runs) return shownText(description);
  return shownText(
    runs
      .map((run) => {
        const shown = asString(at(run, 'text')) ?? '';
        return targetOf(at(run, 'navigationEndpoint'), shown) ?? shown;
      })
      .join(''),
  );
}

/** Marks of writing direction that the page puts around names of channels. */
const SET_APART = /\u202a(@[^\u202a-\u202e\s]*)\u202c/g;

/**
 * The outside address that a piece stands for; names of channels, hashtags and time stamps have none. An address that is
 * shown whole is what the owner wrote, though the link behind it may lead to more.
 */
function targetOf(command: unknown, shown: string): string | undefined {
  const address = asString(at(command, 'urlEndpoint', 'url'));
  const url = address && URL.parse(address, 'https://www.youtube.com');
  if (!url) return undefined;
  const redirect = url.hostname.endsWith('youtube.com') && url.pathname === '/redirect';
  const target = redirect ? (url.searchParams.get('q') ?? undefined) : URL.canParse(address) ? address : undefined;
  const plain = shown.trim();
  return plain !== '' && target?.startsWith(plain) ? undefined : target;
}
