export {
  type Audio,
  type AudioExchange,
  type AudioResponse,
  type AudioResponseEnd,
  createAudio,
  type TranscriptionResult,
  type UploadedAudio,
} from './audio.js';
