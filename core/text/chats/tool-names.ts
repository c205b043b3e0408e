/*
 * Converts names and ids of tools to a form that every vendor accepts. Clients use dots, more than 64 characters, or
 * namespaces, which vendors refuse. A name that fits stays as it is; another becomes its allowed characters and a hash
 * of the whole name. The result depends on the name alone, so it is the same in every turn of a conversation. Answers
 * get the client's own name back.
 */

import { createHash } from 'node:crypto';

/** Characters of a name or an id that all vendors accept. */
const MAX_LENGTH = 64;
const FITS = /^[A-Za-z0-9_-]{1,64}$/;
const HASH_LENGTH = 8;
/** Stands between a namespace and a name. */
const SEPARATOR = '__';

/** A tool as its client names it. */
export interface ToolName {
  name: string;
  /** Of tools that are listed within a namespace. */
  namespace?: string;
}

/** Names of one request's tools, and the way back. */
export class ToolNames {
  readonly #encoded = new Map<string, string>();
  readonly #tools: Map<string, ToolName>;

  /** @param tools Those of other names, whose answers are to be read. Default: none. */
  constructor(tools?: ReadonlyMap<string, ToolName>) {
    this.#tools = tools ? (tools as Map<string, ToolName>) : new Map();
  }

  /** The tools by their encoded names: plain values, for a thread. */
  get tools(): ReadonlyMap<string, ToolName> {
    return this.#tools;
  }

  /** The name for the vendor. Two tools never share one. */
  encode(tool: ToolName): string {
    const { name, namespace } = tool;
    const key = JSON.stringify([namespace, name]);
    const known = this.#encoded.get(key);
    if (known !== undefined) return known;
    const whole = namespace === undefined ? name : joined(namespace, name);
    let encoded = FITS.test(whole) ? whole : shortened(whole);
    for (let round = 1; this.#tools.has(encoded); round += 1) encoded = shortened(`${key} ${round}`, whole);
    this.#encoded.set(key, encoded);
    this.#tools.set(encoded, namespace === undefined ? { name } : { name, namespace });
    return encoded;
  }

  /** The tool of a name in an answer. A name that was not encoded is the client's own. */
  decode(encoded: string): ToolName {
    return this.#tools.get(encoded) ?? { name: encoded };
  }
}

/** Namespaces of MCP servers end with the separator. */
function joined(namespace: string, name: string): string {
  return namespace.endsWith(SEPARATOR) ? namespace + name : namespace + SEPARATOR + name;
}

/** The id of a call as all vendors accept it: the same text where it fits, and always the same for one id. */
export function fitToolId(id: string): string {
  return FITS.test(id) ? id : shortened(id);
}

function shortened(whole: string, shown = whole): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_LENGTH);
  const letters = shown.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1);
  return `${letters}_${hash}`;
}
