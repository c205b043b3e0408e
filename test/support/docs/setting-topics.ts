/** The order of the settings in docs/reference/settings.md: what most installations set first, then by topic. */

/** Settings that belong together. */
interface SettingTopic {
  title: string;
  names: readonly string[];
}

/** The settings that most installations set: what a first server for others needs. */
export const ESSENTIAL_SETTINGS: readonly string[] = [
  'HOST',
  'PORT',
  'BASE_URL',
  'SITE_URL',
  'TRUSTED_PROXIES',
  'DATA_DIR',
  'DATABASE_URL',
  'FILES_URL',
  'KEY_PEPPER',
  'PLUGINS_CONFIG',
  'TEXT_UPSTREAM_URL',
  'IMAGE_UPSTREAM_URL',
  'EGRESS_PROXY_URL',
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'PLANS_FILE',
  'IMAGE_DAILY_LIMIT',
  'LOG_LEVEL',
  'METRICS_PORT',
];

/** Every setting of the gateway itself, once. */
export const SETTING_TOPICS: readonly SettingTopic[] = [
  {
    title: 'Addresses and connections',
    names: [
      'HOST',
      'PORT',
      'WORKERS',
      'BASE_URL',
      'TRUSTED_PROXIES',
      'CORS_ORIGINS',
      'MAX_CONNECTIONS',
      'MAX_CONNECTIONS_PER_ADDRESS',
      'REFUSED_BODIES_PER_MINUTE',
      'DRAIN_SECONDS',
      'SHUTDOWN_SECONDS',
    ],
  },
  { title: 'Storage', names: ['DATA_DIR', 'DATABASE_URL', 'DATABASE_POOL', 'FILES_URL', 'CACHE_URL'] },
  { title: 'Secrets', names: ['KEY_PEPPER', 'LINK_SECRET'] },
  {
    title: 'Plugins and programs',
    names: [
      'PLUGINS_CONFIG',
      'EGRESS_PROXY_URL',
      'TRUSTED_ORIGINS',
      'BROWSER',
      'BROWSER_PATH',
      'BROWSER_MEMORY_MB',
      'FFMPEG_PATH',
    ],
  },
  {
    title: 'Link data',
    names: [
      'EXTRACT_CACHE_SECONDS',
      'EXTRACT_WORKERS',
      'EXTRACT_MAX_ACTIVE',
      'EXTRACT_MAX_BATCHES',
      'EXTRACT_BATCH_LINKS',
      'MEDIA_PROXY',
      'MEDIA_KEY_MBITS',
      'MEDIA_MBITS',
      'VIDEO_SPOOL_MB',
      'EXACT_CUT_SECONDS',
      'AUDIO_LINK_HOURS',
      'TRANSCRIPT_MODEL',
      'TRANSCRIPT_MAX_MINUTES',
      'TRANSCRIPT_WAIT_SECONDS',
    ],
  },
  {
    title: 'Images',
    names: [
      'IMAGE_WORKERS',
      'IMAGE_MAX_PER_KEY',
      'IMAGE_MAX_ACTIVE',
      'IMAGE_ANY_SIZE',
      'IMAGE_FILE_TTL',
      'IMAGE_RESTART_POLICY',
    ],
  },
  {
    title: 'Webhooks',
    names: ['IMAGE_WEBHOOKS', 'IMAGE_WEBHOOK_ORIGINS', 'IMAGE_WEBHOOK_SECRET', 'BUDGET_WEBHOOK_URL'],
  },
  {
    title: 'Alerts',
    names: [
      'ALERT_WEBHOOK_URL',
      'ALERT_EMAIL_TO',
      'ALERT_EMAIL_FROM',
      'SMTP_URL',
      'ALERT_LANGUAGE',
      'ALERT_ERROR_PERCENT',
      'ALERT_DISK_PERCENT',
    ],
  },
  {
    title: 'Models',
    names: [
      'MESSAGES_ENABLED',
      'MCP_ENABLED',
      'MCP_SIGN_IN',
      'MODEL_ALIASES',
      'ABORT_CHARGE',
      'TEXT_MAX_BYTES',
      'AUDIO_MAX_BYTES',
    ],
  },
  {
    title: 'Limits, plans, prices and the free tier',
    names: [
      'PLANS_FILE',
      'PRICES_FILE',
      'PRICES_CURRENCY',
      'FREE_TIER_PERIOD',
      'FREE_TIER_GRANTS',
      'IMAGE_DAILY_LIMIT',
      'ACCOUNT_IMAGE_DAILY_LIMIT',
      'ACCOUNT_QUEUE_PERCENT',
    ],
  },
  { title: 'Usage', names: ['REQUEST_LOG_DAYS', 'REQUEST_LOG_ROWS'] },
  {
    title: 'Site and sign-in',
    names: [
      ...['SITE', 'SITE_URL', 'OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'SIGN_IN_APPS'],
      ...['SITE_NAME', 'SITE_LOGO', 'SITE_ACCENT', 'SITE_TERMS_URL', 'SITE_PRIVACY_URL', 'SITE_SUPPORT'],
      ...['SITE_FOOTER', 'SITE_EDIT_URL', 'SITE_HOME'],
    ],
  },
  {
    title: 'Payments',
    names: [
      'PREPAID_BALANCE',
      'PAYMENT_FORMAT',
      'PAYMENT_BANK_NAME',
      'PAYMENT_BANK_BIN',
      'PAYMENT_ACCOUNT',
      'PAYMENT_ACCOUNT_NAME',
      'PAYMENT_WEBHOOK_SECRET',
    ],
  },
  { title: 'Logs and metrics', names: ['LOG_LEVEL', 'LOG_FORMAT', 'METRICS_PORT', 'METRICS_HOST', 'METRICS_PUBLIC'] },
  {
    title: 'Tracing',
    names: [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
      'OTEL_TRACES_EXPORTER',
      'OTEL_SDK_DISABLED',
      'OTEL_SERVICE_NAME',
      'OTEL_RESOURCE_ATTRIBUTES',
      'OTEL_TRACES_SAMPLER',
      'OTEL_TRACES_SAMPLER_ARG',
      'OTEL_BSP_SCHEDULE_DELAY',
      'OTEL_BSP_MAX_QUEUE_SIZE',
      'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    ],
  },
];
