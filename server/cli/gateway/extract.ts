/*
 * `mediagate extract` runs one extraction in this process, without a server, and prints the answer that `POST
 * /v1/extract` would give.
 */

import type { Gateway } from 'mediagate';
import { ERRORS, type GatewayError, type Logger } from '../../../core/runtime/index.js';
import { encodeError, newRequestId, toGatewayError } from '../../http/index.js';
import { ExtractRequests, encodeExtraction } from '../../links/index.js';
import type { Settings } from '../../settings/index.js';
import { startSpinner, withGateway } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { mistakeOf } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { extract } from './gateway-commands.js';

type ExtractOptions = OptionsOf<typeof extract>;

const OPTIONS = { clip_review_limit: '--clip-review-limit', clip_sort: '--clip-sort' };
const BAD_REQUEST = 400;

/**
 * Extracts one link without a server and prints the answer of `POST /v1/extract`. Exit code 1 on an error.
 * @throws CommandMistake for an invalid link or option.
 */
export function extractCommand(settings: Settings, url: string, options: ExtractOptions): Promise<Outcome> {
  const spinner = startSpinner(url);
  const work = async (gateway: Gateway, logger: Logger) => {
    const { body, error } = await extractLink(gateway, logger, url, options);
    spinner?.stop();
    const text = JSON.stringify(body, null, 2);
    if (!error || ERRORS[error.code].status !== BAD_REQUEST) return { text, exitCode: error ? 1 : 0 };
    process.stdout.write(`${text}\n`);
    throw mistakeOf(error, OPTIONS);
  };
  const opened = withGateway(settings, work, { baseUrl: () => baseUrlOf(settings), readOnly: false });
  return opened.finally(() => spinner?.stop());
}

/** @throws CommandMistake */
async function extractLink(
  gateway: Gateway,
  logger: Logger,
  url: string,
  options: ExtractOptions,
): Promise<{ body: unknown; error?: GatewayError }> {
  const requests = new ExtractRequests(gateway);
  const body = checked(() =>
    requests.checkExtract({
      url,
      clip_review_limit: options.clipReviewLimit,
      clip_sort: options.clipSort,
      include_empty_reviews: options.includeEmptyReviews,
      include_audio_mp3: options.includeAudioMp3,
      async_mode: options.asyncMode,
      force_async: options.forceAsync,
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
