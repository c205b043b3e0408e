import type { Usage } from '../../contracts/media.js';

/** A response that its upstream goes on making, and whose request was counted by an estimate. */
export interface BackgroundResponse {
  /** As the upstream named it. */
  id: string;
  accountId: string;
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
  accountId: string;
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
  isOpen(responseId: string, accountId: string): Promise<boolean>;
  /** Some of those whose upstream is to be asked now, the longest due first; nobody else is given them before their next time. */
  takeDue(most: number, times: LookTimes): Promise<readonly BackgroundResponse[]>;
  /** As {@link Admissions.correct}. */
  correct(correction: BackgroundCorrection): void;
  /** As {@link Admissions.flushInTime}. */
  flushInTime(): Promise<void>;
}
