import type { SlotAnswer, WindowFamily, Windows } from '../limits/index.js';
import { slotRequest } from '../limits/index.js';
import type { ApiKeyRecord, Grant } from './api-keys.js';

const FAMILIES: Readonly<Record<Grant, WindowFamily>> = {
  images: 'image',
  extract: 'link_data',
  text: 'model',
  audio: 'model',
};

/** How the windows of a key stand, by family. Undefined where it has none. Takes no slot. */
export type KeyWindows = Readonly<Record<string, SlotAnswer>>;

export async function lookAtWindows(windows: Windows, key: ApiKeyRecord): Promise<KeyWindows | undefined> {
  if (key.rpm === null) return undefined;
  const families = [...new Set(key.grants.map((grant) => FAMILIES[grant]))];
  const looked: Record<string, SlotAnswer> = {};
  for (const family of families) {
    const request = slotRequest({ key, family });
    if (request) looked[family] = await windows.peek(request);
  }
  return looked;
}
