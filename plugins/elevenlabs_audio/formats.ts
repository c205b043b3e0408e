import type { SpeechFormat } from 'mediagate';

/** What to ask the vendor for, and what comes then. */
export interface VendorFormat {
  /** Value of `output_format`. */
  name: string;
  format: SpeechFormat;
}

const MP3: VendorFormat = { name: 'mp3_44100_128', format: 'mp3' };
const OPUS: VendorFormat = { name: 'opus_48000_128', format: 'opus' };
/** The rate that clients of the OpenAI format expect, and that needs no dear plan of the vendor's. */
const PCM: VendorFormat = { name: 'pcm_24000', format: 'pcm' };

/** Of speech: samples for what the vendor does not make, since nothing is lost in them. */
export function speechFormat(wanted: SpeechFormat): VendorFormat {
  if (wanted === 'mp3') return MP3;
  return wanted === 'opus' ? OPUS : PCM;
}

/** Of other sounds: they may have two channels, which samples without a header do not say. */
export function effectFormat(wanted: SpeechFormat): VendorFormat {
  return wanted === 'opus' ? OPUS : MP3;
}
