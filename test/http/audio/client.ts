/** An app with an invented audio provider, and forms for it. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NewKey } from '../../../server/keys/index.js';
import { type InventedAudio, inventedAudio } from '../../support/audio/invented-audio.js';
import { type Answer, type ListeningApp, type ListeningAppOptions, startApp } from '../http/listening-app.js';

/** The real app with invented audio models, a key for it, and a folder for sounds. */
export interface AudioApp extends ListeningApp {
  readonly audio: InventedAudio;
  readonly key: string;
  readonly folder: string;
  /** Of a multipart form: a `Blob` is a file. */
  send(target: string, fields: FormFields, more?: RequestInit): Promise<Answer>;
  post(target: string, body: unknown, more?: RequestInit): Promise<Answer>;
}

export type FormFields = Readonly<Record<string, string | Blob | readonly (string | Blob)[]>>;

export async function startAudioApp(
  options: Omit<ListeningAppOptions, 'extractor' | 'shop'> & { key?: Partial<NewKey> } = {},
): Promise<AudioApp> {
  const { plugin, audio } = inventedAudio();
  const { key: wanted, ...rest } = options;
  const app = await startApp({
    ...rest,
    gateway: { plugins: [{ use: plugin, timeoutMs: 60_000 }], ...options.gateway },
  });
  const key = await app.makeKey({ grants: ['audio'], ...wanted });
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-sounds-'));
  const authorization = `Bearer ${key}`;
  return {
    ...app,
    audio,
    key,
    folder,
    send: (target, fields, more) =>
      app.request(target, { method: 'POST', headers: { authorization }, body: toForm(fields), ...more }),
    post: (target, body, more) =>
      app.request(target, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...more,
      }),
    async close() {
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function toForm(fields: FormFields): FormData {
  const form = new FormData();
  for (const [name, values] of Object.entries(fields)) {
    for (const value of Array.isArray(values) ? values : [values]) form.append(name, value);
  }
  return form;
}

/** A file as a form has it; called as callers call such files: anything. */
export function fileOf(bytes: Uint8Array, name = 'recording.bin'): File {
  return new File([new Uint8Array(bytes)], name, { type: 'application/octet-stream' });
}
