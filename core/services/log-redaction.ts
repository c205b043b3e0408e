const STRUCK_OUT = '[redacted]';
const SHORTEST_SECRET = 6;

/** What gives itself away: our keys, bearer tokens, credentials in a URL, and the query of one. */
const PATTERNS: readonly [RegExp, string][] = [
  [/\bsk-[A-Za-z0-9]{2,}-[A-Za-z0-9_-]{8,}/g, STRUCK_OUT],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${STRUCK_OUT}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, `$1${STRUCK_OUT}@`],
  [/(\bhttps?:\/\/[^\s?#"']+)\?[^\s"']*/gi, `$1?${STRUCK_OUT}`],
];

/** Strikes secrets out of a text: those that are known, and what looks like one. */
export function createRedaction(secrets: readonly string[]): (text: string) => string {
  const known = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .sort((left, right) => right.length - left.length);
  return (text) => {
    let clean = text;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, STRUCK_OUT);
    // Nothing secret is that short, and most fields of a request line are.
    if (clean.length < SHORTEST_SECRET || !/[:\s-]/.test(clean)) return clean;
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
    return clean;
  };
}
