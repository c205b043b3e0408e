/** What the parts of the demo work with. */

import type { GatewayClient } from '../support/processes/gateway-process.js';
import type { Terminal } from './terminal.js';

/** What every part of the demo plays on. */
export interface Stage {
  readonly gateway: GatewayClient;
  /** A key with every grant. */
  readonly key: string;
  readonly terminal: Terminal;
  /** Keeps an answer for the reader to open; resolves with the file's path. */
  keep(name: string, content: string | Uint8Array): Promise<string>;
}

/** One ability of the product, shown by using it as a client does. */
export interface DemoPart {
  readonly title: string;
  play(stage: Stage): Promise<void>;
}
