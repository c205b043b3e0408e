import type { Gateway, Logger } from 'mediagate';
import { newRequestId } from '../middleware/request-id.js';
import { openGateway } from '../open-gateway.js';
import type { Settings } from '../settings.js';
import { encodeError, toGatewayError } from '../wire/errors.js';
import { checkExtractBody, decodeExtract, type ExtractBody, ignoredOptions } from '../wire/extract-request.js';
import { encodeExtraction } from '../wire/extract-response.js';
import { openCommandLogger } from './command-logger.js';
import { printJson } from './output.js';
import { startSpinner } from './spinner.js';

/** Members of the request body, by the names that flags give them. */
export interface ExtractFlags {
  clipReviewLimit?: number;
  clipSort?: string;
  includeEmptyReviews?: boolean;
  includeAudioMp3?: boolean;
  asyncMode?: boolean;
  forceAsync?: boolean;
}

/** Extracts one link without a server and prints what `POST /v1/extract` would have answered. Exit code 1 on an error. */
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
      const answer = await extract(gateway, logger, { url, flags });
      spinner?.stop();
      printJson(answer.body);
      return answer.ok ? 0 : 1;
    } finally {
      await gateway.close();
    }
  } finally {
    spinner?.stop();
    await logger.close();
  }
}

interface Link {
  url: string;
  flags: ExtractFlags;
}

async function extract(
  gateway: Gateway,
  logger: Logger,
  { url, flags }: Link,
): Promise<{ ok: boolean; body: unknown }> {
  try {
    const body: ExtractBody = checkExtractBody({
      url,
      clip_review_limit: flags.clipReviewLimit,
      clip_sort: flags.clipSort,
      include_empty_reviews: flags.includeEmptyReviews,
      include_audio_mp3: flags.includeAudioMp3,
      async_mode: flags.asyncMode,
      force_async: flags.forceAsync,
    });
    const result = await gateway.extract(decodeExtract(body));
    return {
      ok: true,
      body: JSON.parse(encodeExtraction(result, { notes: ignoredOptions(body, gateway, result.platform) }).toString()),
    };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === 'internal_error')
      logger.error('the extraction failed in a way nobody foresaw', { error: thrown });
    return { ok: false, body: JSON.parse(encodeError(error, { requestId: newRequestId(), link: { inputUrl: url } })) };
  }
}

/** Where a server with these settings answers the MP3 link. */
function baseUrlOf({ baseUrl, host, port }: Settings): string {
  return baseUrl ?? `http://${host}:${port}`;
}
