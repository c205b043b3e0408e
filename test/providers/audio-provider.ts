/** A stage for audio providers: log, scratch folder and HTTP client. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type AudioInputFile,
  type AudioOperation,
  type AudioProvider,
  type AudioStream,
  createGateway,
  type Gateway,
  type LogFields,
  type Logger,
  type Plugin,
  type SpeechFormat,
} from 'mediagate';
import { makeSound } from '../support/audio/vendor-sounds.js';

const TYPES: Readonly<Partial<Record<SpeechFormat, string>>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
};

export interface LoggedLine {
  level: string;
  message: string;
  fields: LogFields;
}

/** Audio providers as a gateway loads them, and sounds for their calls. */
export interface AudioStage {
  /** What was logged since the last {@link clear}. */
  readonly lines: readonly LoggedLine[];
  /** A new gateway with this one entry. */
  provider(plugin: Plugin, options: object, model: string, operation: AudioOperation): Promise<AudioProvider>;
  sound(format: 'wav' | 'mp3' | 'opus', seconds: number): Promise<AudioInputFile>;
  /** Closes all gateways. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openAudioStage(trustedOrigins: readonly string[]): Promise<AudioStage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-provider-'));
  const gateways: Gateway[] = [];
  let lines: LoggedLine[] = [];
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };

  async function clear(): Promise<void> {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
    lines = [];
  }

  return {
    get lines() {
      return lines;
    },
    async provider(plugin, options, model, operation) {
      const gateway = await createGateway({
        plugins: [{ use: plugin, options: { ...options } }],
        trustedOrigins: [...trustedOrigins],
        services: { logger },
      });
      gateways.push(gateway);
      const found = gateway.audioProvider(model, operation);
      if (!found) throw new Error(JSON.stringify(gateway.plugins()));
      return found;
    },
    async sound(format, seconds) {
      const bytes = await makeSound(format, seconds);
      const file = path.join(folder, `${format}-${seconds}`);
      await writeFile(file, bytes);
      const filename = `sound.${format === 'opus' ? 'ogg' : format}`;
      return { path: file, size: bytes.length, contentType: TYPES[format] ?? '', filename, seconds };
    },
    clear,
    async close() {
      await clear();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function readAll({ body }: AudioStream): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
