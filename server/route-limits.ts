/*
 * The settings that routes read, by the names of the app's services.
 */

import type { Settings } from './settings/index.js';

const ACCOUNT_IMAGE_DAILY_LIMIT = 100;

export function limitsOf(settings: Settings) {
  return {
    anyImageSize: settings.anyImageSize,
    imageDailyLimit: settings.imageDailyLimit,
    accountImageDailyLimit: settings.accountImageDailyLimit ?? settings.imageDailyLimit ?? ACCOUNT_IMAGE_DAILY_LIMIT,
    accountQueueShare: settings.accountQueuePercent / 100,
    mediaProxy: settings.mediaProxy,
    requestLogDays: settings.requestLogDays,
    audioMaxBytes: settings.audioMaxBytes,
    transcripts: {
      model: settings.transcriptModel,
      maxMinutes: settings.transcriptMaxMinutes,
      waitSeconds: settings.transcriptWaitSeconds,
    },
    textMaxBytes: settings.textMaxBytes,
    messagesEnabled: settings.messagesEnabled,
    modelAliases: settings.modelAliases,
    mcpEnabled: settings.mcpEnabled,
    mcpSignIn: settings.mcpSignIn,
    refusedBodiesPerMinute: settings.refusedBodiesPerMinute,
    siteUrl: settings.siteUrl,
    trustedProxies: settings.trustedProxies,
    corsOrigins: settings.corsOrigins,
    publicMetrics: settings.metricsPublic,
  };
}
