/*
 * What other folders may import of audio: the service and the types of its calls and results.
 */

export {
  Audio,
  type AudioExchange,
  type AudioResponse,
  type AudioResponseEnd,
  type TranscriptionResult,
  type UploadedAudio,
} from './audio.js';
