const STRUCK_OUT = '[redacted]';
/** Striking out shorter ones would make lines unreadable and hide nothing. */
const SHORTEST_SECRET = 4;
/** Longer texts are cut before they are searched, so that a hostile one costs no time. */
const MAX_SEARCHED = 4096;

/** What gives itself away: keys of ours and of vendors, credentials of HTTP and of URLs, and all that follows a path. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sk-|AIza)[A-Za-z0-9_-]{8,}/g, STRUCK_OUT],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}/gi, `$1 ${STRUCK_OUT}`],
  [/\/\/[^\s/@?#]+@/g, `//${STRUCK_OUT}@`],
  [/(\/\/[^\s"'<>?#]*[?#])[^\s"'<>]*/g, `$1${STRUCK_OUT}`],
  [/([?#])[^\s"'<>?#=]*=[^\s"'<>]*/g, `$1${STRUCK_OUT}`],
];

/** Characters that steer a terminal or turn the order of what is read. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being replaced
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Makes a function that strikes secrets, known ones and what looks like one, out of a text and escapes its controls. */
export function createRedaction(secrets: readonly string[]): (text: string) => string {
  const known = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    // The longer first: one secret may be part of another.
    .sort((left, right) => right.length - left.length);
  // Nearly all texts are ours and clean, and this one search tells.
  const suspicious = new RegExp(
    ['sk-', 'AIza', 'bearer', 'basic', '[@?#]', CONTROLS.source, ...known.map(escapePattern)].join('|'),
    'i',
  );

  return (text) => {
    if (text.length <= MAX_SEARCHED && !suspicious.test(text)) return text;
    let clean = text.length > MAX_SEARCHED ? cut(text) : text;
    for (const secret of known) clean = clean.replaceAll(secret, STRUCK_OUT);
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
    return clean.replace(CONTROLS, escapeControl);
  };
}

/** Without the word that is cut: half a secret would not be recognised. */
function cut(text: string): string {
  const head = text.slice(0, MAX_SEARCHED);
  const lastSpace = head.search(/\s\S*$/);
  return lastSpace < 0 ? '…' : `${head.slice(0, lastSpace)} …`;
}

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
