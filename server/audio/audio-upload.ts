import type { UploadedSound } from 'mediagate';
import type { RequestContext } from '../http/index.js';
import { clientSignal, missing, type SoundForm, useSoundForm } from '../http/index.js';
import type { KeyedRequest } from '../idempotency/index.js';
import { readIdempotencyKey } from '../idempotency/index.js';
import { holderOf, keyOf } from '../keys/index.js';
import type { AudioRouteOptions } from './audio-work.js';

export interface AudioUpload extends Pick<KeyedRequest, 'key' | 'fingerprint'>, Pick<SoundForm, 'fields'> {
  sound: UploadedSound;
}

/**
 * Reads the form of an audio route, whose sound is there until `use` has ended.
 * @param soundNames Names that the sound may have in the form; by the first it is asked for where it is missing.
 * @throws GatewayError `missing_required_parameter`, and as {@link useSoundForm}.
 */
export async function useUpload(
  context: RequestContext,
  { gateway, uploads, audioMaxBytes }: AudioRouteOptions,
  soundNames: readonly [string, ...string[]],
  use: (upload: AudioUpload) => Promise<void>,
): Promise<void> {
  const { req: request, res: response } = context;
  const key = readIdempotencyKey(request.headers);
  const form = {
    audio: gateway.audio,
    soundNames,
    maxBytes: audioMaxBytes,
    budget: uploads,
    owner: holderOf(keyOf(context)),
    signal: clientSignal(response),
    fingerprinted: key !== undefined,
  };
  await useSoundForm(request, response, form, ({ fields, sound, fingerprint }) =>
    use({ fields, sound: sound ?? missing(soundNames[0], 'a sound'), key, fingerprint }),
  );
}
