import { GatewayError } from '../runtime/index.js';

/** What ffmpeg told about a source while it read it. */
export interface ConversionReport {
  /** Length in seconds that the source claims to have. */
  declaredSeconds?: number;
  /** The source has pictures too, which may go on longer than the sound. */
  hasPictures: boolean;
  /** The source ended before it should have. */
  cutShort: boolean;
}

const KEPT_BYTES = 8192;

/** Reads ffmpeg's messages. They quote the source, so nothing of them reaches a client or a log: only what was recognised. */
export function createReportReader() {
  let head = '';
  let tail = '';

  return {
    add(chunk: Buffer): void {
      const text = chunk.toString('latin1');
      head += text.slice(0, Math.max(0, KEPT_BYTES - head.length));
      tail = (tail + text).slice(-KEPT_BYTES);
    },

    read(): ConversionReport {
      const [, hours, minutes, seconds] = /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d+),/m.exec(head) ?? [];
      return {
        ...(seconds && { declaredSeconds: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) }),
        hasPictures: /^ {2}Stream #0:\d+.*: Video: /m.test(head),
        cutShort: /: partial file$|\] File ended prematurely|Truncated/m.test(tail),
      };
    },

    /** Why it ended with this code (null: by a signal that was not ours). */
    failure(code: number | null): GatewayError {
      const cause = new Error(`ffmpeg ended with ${code ?? 'a signal'}`);
      if (/matches no streams/.test(tail)) return unavailable('The source has no sound.', cause);
      if (/not on whitelist|Decoder .* not found|Decoding requested, but no decoder/.test(tail))
        return unavailable('The sound of the source is in a form that is not converted.', cause);
      return unavailable('The source cannot be read as sound: it is damaged, or not what it seems to be.', cause);
    },
  };
}

function unavailable(message: string, cause: Error): GatewayError {
  return new GatewayError('audio_unavailable', message, { cause, retryable: false });
}
