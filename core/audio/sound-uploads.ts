import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import type { Ffmpeg, ScratchFolders } from '../media/index.js';
import { type Container, SNIFF_BYTES, sniffContainer } from '../media/index.js';
import { diskFailure, GatewayError, isGatewayError } from '../runtime/index.js';
import type { SoundUpload, UploadedSound } from './audio-requests.js';

const MAX_SECONDS = 3 * 3600;
const ACCEPTED = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm';

interface SoundType {
  contentType: string;
  extension: string;
}

/** What is accepted, by its content. Vendors go by the extension of a file's name. */
const TYPES: Readonly<Partial<Record<Container, SoundType>>> = {
  mov: { contentType: 'audio/mp4', extension: 'mp4' },
  matroska: { contentType: 'audio/webm', extension: 'webm' },
  mp3: { contentType: 'audio/mpeg', extension: 'mp3' },
  mpeg: { contentType: 'video/mpeg', extension: 'mpeg' },
  ogg: { contentType: 'audio/ogg', extension: 'ogg' },
  flac: { contentType: 'audio/flac', extension: 'flac' },
  wav: { contentType: 'audio/wav', extension: 'wav' },
};

export interface SoundUploadsOptions {
  scratch: ScratchFolders;
  /** Default: none, and files are taken for what their first bytes say. */
  ffmpeg?: Ffmpeg;
}

/** Takes sounds of callers into files of ours. */
export function createSoundUploads({ scratch, ffmpeg }: SoundUploadsOptions) {
  return async (upload: SoundUpload): Promise<UploadedSound> => {
    const { param, signal } = upload;
    const folder = await scratch.take().catch((error: unknown) => {
      throw diskFailure(error);
    });
    try {
      const file = path.join(folder.path, 'source');
      const { size, container } = await spool(file, upload);
      const type = TYPES[container] as SoundType;
      const seconds = await ffmpeg?.probe({ input: file, container, signal }).then(
        ({ declaredSeconds }) => declaredSeconds,
        (error: unknown) => {
          throw isGatewayError(error) && error.code === 'audio_unavailable' ? unreadable(param, error) : error;
        },
      );
      if (seconds !== undefined && seconds > MAX_SECONDS) {
        throw invalid(param, `${param} is longer than ${MAX_SECONDS / 3600} hours.`);
      }
      return {
        path: file,
        size,
        contentType: type.contentType,
        filename: `sound.${type.extension}`,
        ...(seconds !== undefined && { seconds }),
        remove: () => folder.remove(),
      };
    } catch (error) {
      // One that stays is swept away later; why it is not needed any more goes before why it could not be removed.
      await folder.remove().catch(() => undefined);
      throw diskFailure(error);
    }
  };
}

/** What is no sound is refused at its first bytes, before the rest is read. */
async function spool(file: string, upload: SoundUpload): Promise<{ size: number; container: Container }> {
  const handle = await open(file, 'wx', 0o600);
  try {
    return await write(handle, upload);
  } finally {
    await handle.close();
  }
}

async function write(handle: FileHandle, { chunks, maxBytes, param, signal }: SoundUpload) {
  let head = Buffer.alloc(0);
  let container: Container | undefined;
  let size = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    size += chunk.length;
    if (size > maxBytes) {
      throw new GatewayError('request_too_large', `${param} is larger than ${maxBytes} bytes.`, { param });
    }
    if (!container) {
      head = Buffer.concat([head, chunk.subarray(0, SNIFF_BYTES - head.length)]);
      if (head.length === SNIFF_BYTES) container = judge(head, param);
    }
    await handle.writeFile(chunk);
  }
  if (size === 0) throw invalid(param, `${param} is empty: send a sound (${ACCEPTED}).`);
  return { size, container: container ?? judge(head, param) };
}

function judge(head: Uint8Array, param: string): Container {
  const container = sniffContainer(head);
  if (container && TYPES[container]) return container;
  throw invalid(param, `${param} is not a sound of an accepted format: ${ACCEPTED}.`);
}

function unreadable(param: string, cause: GatewayError): GatewayError {
  const message = `${param} cannot be read as sound: it is damaged, or has none. Accepted: ${ACCEPTED}.`;
  return new GatewayError('invalid_value', message, { param, cause });
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param });
}
