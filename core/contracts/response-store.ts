import type { Usage } from './media.js';

/*
 * What the text service needs of whoever embeds it: where responses of `/v1/responses` are found again, and those that their
 * upstream makes in the background.
 */

/** Where a response of `/v1/responses` was made, so that it is found again there, by its owner alone. */
export interface StoredResponse {
  /** As the upstream named it. */
  id: string;
  owner: string;
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since 1970. Kept 30 days. */
  createdAt: number;
}

/** Every call but `remember` and `flushInTime` throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface StoredResponses {
  /** Never throws and never waits; written with others within 100 ms. `find` of this process sees it at once. */
  remember(response: StoredResponse): void;
  /** Resolves when all that is to be remembered is durable, or the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
  /** Undefined where there is none, or none of this owner. */
  find(id: string, owner: string): Promise<StoredResponse | undefined>;
  /** Two owners may have one of the same name, of two upstreams. */
  forget(id: string, owner: string): Promise<void>;
}

/** A response that its upstream goes on making, and whose request was counted by an estimate. */
export interface BackgroundResponse {
  /** As the upstream named it. */
  id: string;
  owner: string;
  /** Public model id. */
  model: string;
  /** `TextReply.upstream` of the call that made it. */
  upstream: string;
  /** Milliseconds since its request was counted. */
  ageMs: number;
  /** Milliseconds until it is given to anybody again. */
  waitMs: number;
}

/** What became known of such a response. */
export interface BackgroundCorrection {
  responseId: string;
  owner: string;
  /** As {@link BackgroundResponse.upstream}: each names its responses by itself, and two may use the same name. */
  upstream: string;
  /**
   * What was used in all: as the upstream reports it, it takes the place of the estimate. An estimate only ever raises the
   * one before. Default: it stays as it is counted.
   */
  usage?: Usage;
  /** Whether nothing more will be known of it; so it is where `usage` was reported. */
  final: boolean;
}

export interface LookTimes {
  /** Milliseconds from one look to the next: the first time, twice as many each time, and never more than `lastMs`. */
  firstMs: number;
  lastMs: number;
}

/** Responses in the background until their usage is known. Every call throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface BackgroundResponses {
  isOpen(responseId: string, owner: string): Promise<boolean>;
  /** Some of those whose upstream is to be asked now, the longest due first; nobody else is given them before their next time. */
  takeDue(most: number, times: LookTimes): Promise<readonly BackgroundResponse[]>;
  /** Counts it; never throws and never waits. Where it was corrected for good before, or never was such, nothing changes. */
  correct(correction: BackgroundCorrection): void;
  /** Resolves when everything counted so far is durable, or the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
}
