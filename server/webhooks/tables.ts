declare module '../../core/database/tables.js' {
  interface Tables {
    webhook_secrets: WebhookSecretsTable;
  }
}

/** Accounts whose secret is not their first one any more. The secrets themselves are nowhere; see server/webhooks/webhooks.ts. */
export interface WebhookSecretsTable {
  account_id: string;
  version: number;
  changed_at: number;
}
