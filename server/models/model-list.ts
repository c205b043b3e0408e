import { MODEL_NOTES } from '../plans/index.js';

const { chat, audio, image } = MODEL_NOTES;
/** The models of the service in display order; other models follow. */
const ORDER: readonly string[] = [...chat.models, ...audio.map(({ model }) => model), image.listed, image.model];
/** Seconds since 1970: the same on each node and at each start, since clients compare it. */
export const CREATED = 1_781_481_600;

export interface ModelObject {
  id: string;
  object: 'model';
  created: number;
  owned_by: 'gateway';
}

export function encodeModel(id: string): ModelObject {
  return { id, object: 'model', created: CREATED, owned_by: 'gateway' };
}

/** @param ids The models that are ready; repetitions are allowed. */
export function encodeModelList(ids: readonly string[]): { object: 'list'; data: ModelObject[] } {
  return { object: 'list', data: orderModels(ids).map(encodeModel) };
}

/** Each once. */
export function orderModels(ids: readonly string[]): string[] {
  const rank = (id: string) => (ORDER.indexOf(id) + ORDER.length + 1) % (ORDER.length + 1);
  return [...new Set(ids)].sort((one, other) => rank(one) - rank(other));
}
