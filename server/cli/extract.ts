/*
 * `mediagate extract` runs one extraction in this process, without a server, and prints the answer that `POST
 * /v1/extract` would give.
 */

import type { Gateway } from 'mediagate';
import { ERRORS, type GatewayError, type Logger } from '../../core/runtime/index.js';
import { encodeError, newRequestId, toGatewayError } from '../http/index.js';
import { ExtractRequests, encodeExtraction } from '../links/index.js';
import { openGateway } from '../open-gateway.js';
import type { Settings } from '../settings/index.js';
import { mistakeOf, openCommandLogger, printJson, startSpinner } from './command.js';

/** Fields of the request body, by flag. */
export interface ExtractFlags {
  clipReviewLimit?: number;
  clipSort?: string;
  includeEmptyReviews?: boolean;
  includeAudioMp3?: boolean;
  asyncMode?: boolean;
  forceAsync?: boolean;
}

const OPTIONS = { clip_review_limit: '--clip-review-limit', clip_sort: '--clip-sort' };
const BAD_REQUEST = 400;

/**
 * Extracts one link without a server and prints the answer of `POST /v1/extract`. Exit code 1 on an error.
 * @throws CommandMistake for an invalid link or option.
 */
export async function extractCommand(settings: Settings, url: string, flags: ExtractFlags): Promise<number> {
  const logger = openCommandLogger(settings);
  const spinner = startSpinner(url);
  try {
    const gateway = await openGateway({
      settings,
      environment: process.env,
      logger,
      baseUrl: () => baseUrlOf(settings),
    });
    try {
      const answer = await extract(gateway, logger, url, flags);
      spinner?.stop();
      printJson(answer.body);
      if (!answer.error) return 0;
      if (ERRORS[answer.error.code].status === BAD_REQUEST) throw mistakeOf(answer.error, OPTIONS);
      return 1;
    } finally {
      await gateway.close();
    }
  } finally {
    spinner?.stop();
    await logger.close();
  }
}

/** @throws CommandMistake */
async function extract(
  gateway: Gateway,
  logger: Logger,
  url: string,
  flags: ExtractFlags,
): Promise<{ body: unknown; error?: GatewayError }> {
  const requests = new ExtractRequests(gateway);
  const body = checked(() =>
    requests.checkExtract({
      url,
      clip_review_limit: flags.clipReviewLimit,
      clip_sort: flags.clipSort,
      include_empty_reviews: flags.includeEmptyReviews,
      include_audio_mp3: flags.includeAudioMp3,
      async_mode: flags.asyncMode,
      force_async: flags.forceAsync,
    }),
  );
  try {
    const result = await gateway.extract(requests.decode(body));
    const notes = requests.ignoredOptions(body, result.platform);
    return { body: JSON.parse(encodeExtraction(result, { notes }).toString()) };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === 'internal_error') logger.error('the extraction failed unexpectedly', { error: thrown });
    return { error, body: JSON.parse(encodeError(error, { requestId: newRequestId(), link: { inputUrl: body.url } })) };
  }
}

function checked<Body>(check: () => Body): Body {
  try {
    return check();
  } catch (error) {
    throw mistakeOf(toGatewayError(error), OPTIONS);
  }
}

/** Base URL of a server with these settings, for the MP3 link. */
function baseUrlOf({ baseUrl, host, port }: Settings): string {
  return baseUrl ?? `http://${host}:${port}`;
}
