import { GatewayError } from 'mediagate';
import { findVendorFields, type VendorField } from '../../core/text/index.js';
import { type ApiKeyRecord, isPlanKey } from '../keys/index.js';

/**
 * Refuses what a key may not use of the operator's account at the vendor. Operators' keys, which have no plan, may use
 * all of it; other keys need the grants `vendor_ids` and `paid_tools`. A previous response is checked by its owner
 * (`response-store.ts`).
 * @param found Fields of a large body, of which `parsed` has only a part.
 * @throws GatewayError `vendor_id_not_allowed`, `paid_tool_not_allowed`.
 */
export function checkVendorUse(
  key: ApiKeyRecord,
  parsed: Readonly<Record<string, unknown>>,
  found?: readonly VendorField[],
): void {
  if (!isPlanKey(key)) return;
  const { grants } = key;
  const [mayUseIds, mayPay] = [grants.includes('vendor_ids'), grants.includes('paid_tools')];
  if (mayUseIds && mayPay) return;
  for (const { use, param, value } of found ?? findVendorFields(parsed)) {
    if (use === 'id' && !mayUseIds) {
      const accepted = 'Send the content itself, or previous_response_id of a response that this account made';
      throw new GatewayError('vendor_id_not_allowed', `${param} names something of the model vendor. ${accepted}.`, {
        param,
      });
    }
    if (use === 'paid' && !mayPay) {
      const accepted =
        param === 'service_tier' ? 'Accepted: auto, default' : 'Accepted: tools of the type function or custom';
      throw new GatewayError('paid_tool_not_allowed', `${value} costs more than tokens. ${accepted}.`, { param });
    }
  }
}
