/** The models of the service in the order that it names them; others come after them. */
const ORDER = [
  'm-5.5',
  'm-5.4',
  'm-5.4-mini',
  'm-5.3-code',
  'm-5.2-code',
  'm-5.2',
  'm-5.1-code-max',
  'm-5.1-code-mini',
  'm-5-code',
  'm-5-code-mini',
  'm-5.3-code-spark',
  'code-auto-review',
  'stt-large-v3',
  'stt-large-v3-turbo',
  'tts_multilingual_v2',
  'tts_v3',
  'tts_flash_v2_5',
  'tts_turbo_v2_5',
  'tts_multilingual_sts_v2',
  'tts_text_to_sound_v2',
  'gen-image-2',
  'gen-img-2',
];
/** Seconds since 1970: the same on each node and at each start, since clients compare it. */
const CREATED = 1_781_481_600;

export interface ModelObject {
  id: string;
  object: 'model';
  created: number;
  owned_by: 'gateway';
}

export function encodeModel(id: string): ModelObject {
  return { id, object: 'model', created: CREATED, owned_by: 'gateway' };
}

/** @param ids of the models that are ready; one may be named more than once. */
export function encodeModelList(ids: readonly string[]): { object: 'list'; data: ModelObject[] } {
  const rank = (id: string) => (ORDER.indexOf(id) + ORDER.length + 1) % (ORDER.length + 1);
  const ordered = [...new Set(ids)].sort((one, other) => rank(one) - rank(other));
  return { object: 'list', data: ordered.map(encodeModel) };
}
