export { addAudioRoutes, SPEECH_FORMATS } from './audio.js';
export { SoundBodySchema } from './sound-request.js';
export { addSpeechRoutes, SpeechBodySchema } from './speech.js';
export { addTranscriptionRoutes, TRANSCRIPTION_FORMATS } from './transcriptions.js';
