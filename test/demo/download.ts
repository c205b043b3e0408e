/** Downloads files of the demo's gateway, and measures them. */

import type { Wait } from './terminal.js';

const DOWNLOAD_MS = 130_000;
const MEBIBYTE = 1024 * 1024;

export interface Download {
  status: number;
  bytes: Buffer;
  headers: Headers;
  firstByteMs: number;
  ms: number;
}

/** @param wait Shows how much has arrived. @throws Error with the gateway's own words if it is refused. */
export async function download(url: string, { range, wait }: { range?: string; wait?: Wait } = {}): Promise<Download> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const response = await fetch(url, {
    headers: range === undefined ? {} : { range },
    signal: AbortSignal.timeout(DOWNLOAD_MS),
  });
  if (!response.ok || !response.body) throw new Error(`No file: ${response.status} ${await response.text()}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let firstByteMs = 0;
  for await (const chunk of response.body) {
    if (size === 0) firstByteMs = elapsed();
    chunks.push(chunk);
    size += chunk.length;
    wait?.progress(`${Math.floor(size / MEBIBYTE)} MiB so far`);
  }
  return {
    status: response.status,
    bytes: Buffer.concat(chunks),
    headers: response.headers,
    firstByteMs,
    ms: elapsed(),
  };
}

/** `9.2 MiB`. */
export function mebibytes(bytes: { length: number }): string {
  const { length } = bytes;
  return length < MEBIBYTE ? `${Math.ceil(length / 1024)} KiB` : `${(length / MEBIBYTE).toFixed(1)} MiB`;
}

/** When the bytes of a file came that was made while it was sent. */
export function whileSent({ firstByteMs, ms }: Download): string {
  return `while it was sent: the first byte came after ${firstByteMs} ms, the last after ${ms} ms`;
}
