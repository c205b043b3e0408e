/** A whole image in memory. */
export interface Media {
  bytes: Uint8Array;
  /** Media type by the content, e.g. `image/png`. */
  contentType: string;
}

/** What a call consumed. Absent members are unknown, which is not zero. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** Of the tokens in and out, those of text and of images, where a model of images tells them apart. */
  inputTextTokens?: number;
  inputImageTokens?: number;
  outputTextTokens?: number;
  outputImageTokens?: number;
  /** Characters billed by a speech vendor. */
  characters?: number;
  /** Seconds of sound. */
  seconds?: number;
  /** True where the figures were not reported but counted by us. */
  estimated?: boolean;
}
