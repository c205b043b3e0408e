import { GatewayError } from '../../core/runtime/index.js';
import { MAX_VENDOR_FIELDS, type VendorField } from '../../core/text/index.js';
import { type ApiKeyRecord, isPlanKey } from '../keys/index.js';
import type { ClosableStoredResponses } from './response-store.js';

/**
 * Refuses what a key may not use of the operator's account at the vendor. Operators' keys, which have no plan, may use
 * all of it; other keys need the grants `vendor_ids` and `paid_tools`. Output items of its own responses are free to
 * every account. A previous response is checked by its owner (`response-store.ts`).
 * @param findFields Those of the request that use something of the vendor's account; called if the key may not use all.
 * @throws GatewayError `vendor_id_not_allowed`, `paid_tool_not_allowed`, `upstream_unavailable` if the database does
 *   not answer.
 */
export async function checkVendorUse(
  key: ApiKeyRecord,
  findFields: () => readonly VendorField[],
  responses: Pick<ClosableStoredResponses, 'unknownItems'>,
): Promise<void> {
  if (!isPlanKey(key)) return;
  const { grants, accountId } = key;
  const [mayUseIds, mayPay] = [grants.includes('vendor_ids'), grants.includes('paid_tools')];
  if (mayUseIds && mayPay) return;
  const fields = findFields();
  const items = mayUseIds ? [] : fields.filter(({ use }) => use === 'item').map(({ value }) => value);
  const unknown = items.length === 0 ? new Set<string>() : await responses.unknownItems(items, accountId);
  for (const { use, param, value } of fields) {
    if (use === 'paid' && !mayPay) throw paidTool(param, value);
    if (use === 'id' && !mayUseIds) throw vendorId(param);
    if (use === 'item' && unknown.has(value)) throw vendorId(param);
  }
  if (fields.length === MAX_VENDOR_FIELDS) {
    const message = `The request names ${MAX_VENDOR_FIELDS} or more things by their ids; fewer are accepted.`;
    throw new GatewayError('invalid_value', message, { param: 'input' });
  }
}

function vendorId(param: string): GatewayError {
  const accepted = 'Send the content itself, or ids of responses and output items that this account made';
  return new GatewayError('vendor_id_not_allowed', `${param} names something of the model vendor. ${accepted}.`, {
    param,
  });
}

function paidTool(param: string, value: string): GatewayError {
  const accepted =
    param === 'service_tier' ? 'Accepted: auto, default' : 'Accepted: tools of the type function or custom';
  return new GatewayError('paid_tool_not_allowed', `${value} costs more than tokens. ${accepted}.`, { param });
}
