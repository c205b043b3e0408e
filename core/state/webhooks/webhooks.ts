/** One try to tell of the end of a job, which nobody else makes until its lease is over. */
export interface WebhookTry {
  jobId: string;
  /** Whose job it is. */
  accountId: string;
  url: string;
  /** Which one it is, from 1. */
  number: number;
}

export interface WebhookWish {
  /** Tries at most; of each account one. */
  most: number;
  /** Accounts that are to have none. */
  except: readonly string[];
  /** Milliseconds after which a try of which nothing was heard is followed by another. */
  leaseMs: number;
}

export interface WebhookPause {
  /** Milliseconds until the next try. */
  waitMs: number;
  /** Events of one account that may wait for a further try. */
  mostWaiting: number;
}

/** Which of an account's secrets is the newest. */
export interface WebhookSecretVersion {
  /** 1 is the first, which every account has. */
  version: number;
  /** Milliseconds since it took the place of the one before it; absent where it is the first. */
  changedMsAgo?: number;
}

/**
 * Events that tell of the ends of jobs: one for each job that was accepted with a `webhookUrl`, written down in the
 * transaction that ends it, whichever way that is, and kept until it was delivered or given up, or the job is forgotten.
 * Every call throws GatewayError `upstream_unavailable` where the database does not answer.
 */
export interface Webhooks {
  /** Begins tries that are due: first tries before later ones, the longest due first. */
  takeDue(wish: WebhookWish): Promise<readonly WebhookTry[]>;
  /** There is no further try: it was delivered, or given up. Nothing where another try has begun. */
  settle(tried: WebhookTry): Promise<void>;
  /** Another follows after a while. False, and nothing is changed, where too many of the account wait already. */
  postpone(tried: WebhookTry, pause: WebhookPause): Promise<boolean>;
  /** As if it had not begun. */
  giveBack(tried: WebhookTry): Promise<void>;
  /** Events that are neither delivered nor given up, of all accounts. */
  waiting(): Promise<number>;
  secretVersion(accountId: string): Promise<WebhookSecretVersion>;
  /** From now on another secret is the newest. */
  rotateSecret(accountId: string): Promise<WebhookSecretVersion>;
}
