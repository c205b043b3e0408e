/*
 * What other folders may import of audio: the service and the types of its calls and results.
 */

export {
  type Audio,
  type AudioExchange,
  type AudioResponse,
  type AudioResponseEnd,
  createAudio,
  type TranscriptionResult,
  type UploadedAudio,
} from './audio.js';
