/** Looking into JSON of unknown shape. Nothing here throws, whatever it is given. */

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The member at the end of a path; undefined where the path leaves the value. Only own members count. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object that is not an array. */
export function asRecord(value: unknown): JsonRecord | undefined {
  return isRecord(value) ? value : undefined;
}

/** The value where it is a list. */
export function asArray(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** A string that is not empty. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A finite number, or a string that is a plain decimal number, which is how many platforms send their counters. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : undefined;
}

/** Zero and more, whole, and no larger than a number can hold: a counter or a size. Written as for {@link asNumber}. */
export function asCount(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** As {@link asCount}, where zero says nothing, as of a picture's width. */
export function asPositive(value: unknown): number | undefined {
  return asCount(value) || undefined;
}

/** The value where it is true or false. */
export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

export interface FindLimits {
  /** Objects, arrays and their members looked at. Default 50,000. */
  maxNodes?: number;
  /** Default 50. */
  maxResults?: number;
}

/**
 * Objects anywhere in the tree that pass the test, in the order of the document. `key` is the member name or the index
 * under which the object stands. A found object is searched as well.
 */
export function findAll(
  value: unknown,
  test: (record: JsonRecord, key: string | undefined) => boolean,
  { maxNodes = 50_000, maxResults = 50 }: FindLimits = {},
): JsonRecord[] {
  const found: JsonRecord[] = [];
  // Two lists, as a pair made for each of a hundred thousand nodes would be felt.
  const nodes: object[] = [];
  const keys: (string | undefined)[] = [];
  let seen = 0;
  const enter = (child: unknown, key: string | number | undefined) => {
    if (typeof child !== 'object' || child === null) return;
    nodes.push(child);
    keys.push(key?.toString());
  };
  enter(value, undefined);
  for (let node = nodes.pop(); node && found.length < maxResults; node = nodes.pop()) {
    const key = keys.pop();
    const before = nodes.length;
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length && seen < maxNodes; index += 1, seen += 1) enter(node[index], index);
    } else {
      const record = node as JsonRecord;
      if (test(record, key)) found.push(record);
      for (const name in record) {
        if (seen >= maxNodes) break;
        seen += 1;
        enter(record[name], name);
      }
    }
    // The first is to be taken first.
    reverseFrom(nodes, before);
    reverseFrom(keys, before);
  }
  return found;
}

function reverseFrom(list: unknown[], start: number): void {
  for (let low = start, high = list.length - 1; low < high; low += 1, high -= 1) {
    [list[low], list[high]] = [list[high], list[low]];
  }
}

/** The first line that is not blank, cut at a word's end where it is longer than `max` characters. */
export function firstLine(text: string, max = 120): string | undefined {
  const line = /[^\s][^\r\n\u2028\u2029]*/.exec(text)?.[0].trim();
  if (!line || line.length <= max) return line || undefined;
  // One place is for the ellipsis; a cut through a surrogate pair would leave half a character.
  const cut = line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '');
  const space = cut.lastIndexOf(' ');
  return `${(space > max / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
