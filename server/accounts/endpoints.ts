/** One address of the service, as the manifest names it. */
export interface Endpoint {
  name: string;
  methods: readonly ('GET' | 'POST' | 'DELETE')[];
  /** Parts in braces stand for what they name. */
  path: string;
}

/** Of the gateway, at its own address. */
export const GATEWAY_ENDPOINTS: readonly Endpoint[] = [
  { name: 'health', methods: ['GET'], path: '/health' },
  { name: 'healthLive', methods: ['GET'], path: '/health/live' },
  { name: 'healthReady', methods: ['GET'], path: '/health/ready' },
  { name: 'imageJobs', methods: ['POST'], path: '/v1/images/jobs' },
  { name: 'imageJob', methods: ['GET', 'DELETE'], path: '/v1/images/jobs/{job_id}' },
  { name: 'imageJobEvents', methods: ['GET'], path: '/v1/images/jobs/{job_id}/events' },
  { name: 'imageJobCancel', methods: ['POST'], path: '/v1/images/jobs/{job_id}/cancel' },
  { name: 'imageGenerations', methods: ['POST'], path: '/v1/images/generations' },
  { name: 'webhookSecret', methods: ['GET'], path: '/v1/webhooks/secret' },
  { name: 'webhookSecretRotation', methods: ['POST'], path: '/v1/webhooks/secret/rotate' },
  { name: 'imageFile', methods: ['GET'], path: '/v1/images/files/{filename}' },
  { name: 'capabilities', methods: ['GET'], path: '/v1/capabilities' },
  { name: 'extract', methods: ['POST'], path: '/v1/extract' },
  { name: 'extractJob', methods: ['GET', 'DELETE'], path: '/v1/extract/jobs/{job_id}' },
  { name: 'extractBatch', methods: ['POST'], path: '/v1/extract/batch' },
  { name: 'extractAudio', methods: ['GET'], path: '/v1/extract/audio/{name}.mp3' },
  { name: 'responses', methods: ['POST'], path: '/v1/responses' },
  { name: 'responsesCompact', methods: ['POST'], path: '/v1/responses/compact' },
  { name: 'responsesInputTokens', methods: ['POST'], path: '/v1/responses/input_tokens' },
  { name: 'response', methods: ['GET', 'DELETE'], path: '/v1/responses/{response_id}' },
  { name: 'responseCancel', methods: ['POST'], path: '/v1/responses/{response_id}/cancel' },
  { name: 'responseInputItems', methods: ['GET'], path: '/v1/responses/{response_id}/input_items' },
  { name: 'chatCompletions', methods: ['POST'], path: '/v1/chat/completions' },
  { name: 'models', methods: ['GET'], path: '/v1/models' },
  { name: 'model', methods: ['GET'], path: '/v1/models/{model}' },
  { name: 'messages', methods: ['POST'], path: '/v1/messages' },
  { name: 'messagesCountTokens', methods: ['POST'], path: '/v1/messages/count_tokens' },
  { name: 'audioTranscriptions', methods: ['POST'], path: '/v1/audio/transcriptions' },
  { name: 'audioTranslations', methods: ['POST'], path: '/v1/audio/translations' },
  { name: 'audioSpeech', methods: ['POST'], path: '/v1/audio/speech' },
  { name: 'audioVoiceChanger', methods: ['POST'], path: '/v1/audio/voice-changer' },
  { name: 'audioSoundEffects', methods: ['POST'], path: '/v1/audio/sound-effects' },
  { name: 'usage', methods: ['GET'], path: '/v1/usage' },
];

/** Of the account site, at its address. */
export const SITE_ENDPOINTS: readonly Endpoint[] = [
  { name: 'manifest', methods: ['GET'], path: '/api/agent/manifest' },
  { name: 'plans', methods: ['GET'], path: '/api/agent/plans' },
  { name: 'session', methods: ['GET', 'POST', 'DELETE'], path: '/api/agent/session' },
  { name: 'sessions', methods: ['DELETE'], path: '/api/agent/sessions' },
  { name: 'setup', methods: ['GET'], path: '/api/agent/setup' },
  { name: 'deviceAuthorization', methods: ['POST'], path: '/api/agent/device' },
  { name: 'deviceToken', methods: ['POST'], path: '/api/agent/device/token' },
  { name: 'user', methods: ['GET', 'POST', 'DELETE'], path: '/api/user' },
  { name: 'userKeys', methods: ['POST'], path: '/api/user/keys' },
  { name: 'userKeyRotate', methods: ['POST'], path: '/api/user/rotate' },
  { name: 'userKeyRevoke', methods: ['POST'], path: '/api/user/keys/{key_id}/revoke' },
  { name: 'payment', methods: ['GET', 'POST'], path: '/api/agent/payment' },
  { name: 'paymentOrder', methods: ['GET'], path: '/api/agent/payment/{code}' },
  { name: 'paymentCancel', methods: ['POST'], path: '/api/agent/payment/{code}/cancel' },
  { name: 'paymentQrSvg', methods: ['GET'], path: '/api/agent/payment/{code}/qr.svg' },
  { name: 'paymentQrPng', methods: ['GET'], path: '/api/agent/payment/{code}/qr.png' },
  { name: 'paymentStatus', methods: ['GET'], path: '/api/payment/gateway' },
  { name: 'login', methods: ['GET'], path: '/signin' },
  { name: 'deviceVerification', methods: ['GET'], path: '/device' },
];
