/** A whole image or sound in memory. */
export interface Media {
  bytes: Uint8Array;
  /** Media type by the content, e.g. `image/png`. */
  contentType: string;
}

/** A sound on its way. */
export interface MediaStream {
  body: AsyncIterable<Uint8Array>;
  contentType: string;
  /** What was used, where the upstream says. */
  usage?: Promise<Usage | undefined>;
  warnings?: readonly string[];
}

/** What a call consumed. Absent members are unknown, which is not zero. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** Characters billed by a speech vendor. */
  characters?: number;
  /** Seconds of sound. */
  seconds?: number;
  /** True where the figures were not reported but counted by us. */
  estimated?: boolean;
}
