/*
 * Body and answers of the payment routes. The body names a plan and nothing else; a price in it is refused as an
 * unknown field. An order is encoded in two forms: for its account, with the transfer details, the QR code and the plan
 * that would result from a payment now; and for a client that only has the code, without anything of the account.
 * Details of the transfer are null as soon as nothing is to be paid.
 */

import { field, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError } from '../../core/runtime/index.js';
import type { PlanPreview } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import { decimal } from '../ledger/index.js';
import type { Support } from '../plans/index.js';
import type { OrderRecord } from './order-records.js';
import type { PaymentTransfer } from './payment-service.js';

export const MAX_PAYMENT_BODY_BYTES = 4_096;

/** Body of `POST /api/agent/payment`. It contains no price. */
export const PaymentBodySchema = Type.Object(
  {
    planId: field(
      Type.String({ minLength: 1, maxLength: 64 }),
      'Id of the plan or of the package; `GET /api/agent/plans` and `GET /api/agent/balance` list them.',
    ),
  },
  { additionalProperties: false },
);

const paymentBody = createValidator(PaymentBodySchema);

/** @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_parameter` with `param`. */
export function decodePaymentBody(body: Readonly<Record<string, unknown>>): { planId: string } {
  const checked = paymentBody.check(body);
  if (checked.ok) return checked.value;
  const [issue] = checked.issues;
  if (issue?.keyword === 'additionalProperties') {
    const param = String(issue.params.additionalProperty).slice(0, 100);
    throw new GatewayError('unsupported_parameter', 'The body may only have planId; the price comes from the plan.', {
      param,
    });
  }
  const isMissing = issue?.keyword === 'required';
  throw new GatewayError(
    isMissing ? 'missing_required_parameter' : 'invalid_value',
    `planId ${isMissing ? 'is missing' : 'must be the id of a plan'}; GET /api/agent/plans lists them.`,
    { param: 'planId' },
  );
}

/** Path of the order's page for its account. */
export function paymentPath(code: string): string {
  return `/api/agent/payment/${code}`;
}

/** The code for a URL: any other text of a client is replaced, since it is no order's code. */
export function isOrderCode(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9A-Z]{10}$/.test(text);
}

export interface PaymentParts {
  order: OrderRecord;
  /** Payment instructions; undefined if nothing is to be paid. */
  transfer: PaymentTransfer | undefined;
  /** URL of its QR code. */
  svg: string | undefined;
  /** The plan if it is paid now; undefined if nothing is to be paid. */
  preview: PlanPreview | undefined;
  /** Base URL of the site, without a trailing slash. */
  siteUrl: string;
  support: Support;
}

/** An order as its account sees it. `transfer` and `qr` are null if nothing is to be paid. */
export function encodePayment({ order, transfer, svg, preview, siteUrl, support }: PaymentParts) {
  const { code } = order;
  return {
    code,
    status: order.state,
    planId: order.planId,
    topUp: order.topUp ? { credit: decimal(order.topUp.credit), currency: order.topUp.currency } : null,
    amount: order.amount,
    currency: order.currency,
    method: 'bank_transfer_qr',
    transfer: transfer ? encodeTransfer(transfer) : null,
    resultingPlan: preview ? encodePreview(preview) : null,
    qr: transfer
      ? {
          ...transfer.qr,
          svg: svg ?? null,
          svgUrl: `${siteUrl}${paymentPath(code)}/qr.svg`,
          pngUrl: `${siteUrl}${paymentPath(code)}/qr.png`,
        }
      : null,
    createdAt: isoTime(order.createdAt),
    expiresAt: isoTime(order.expiresAt),
    paidAt: isoTime(order.paidAt),
    paidAmount: order.paidAmount,
    statusUrl: `${siteUrl}/api/payment/gateway?code=${code}`,
    payUrl: `${siteUrl}/pay/${code}`,
    support,
  };
}

/** The plan if the payment arrived at `asOf`. */
function encodePreview(preview: PlanPreview) {
  return {
    planId: preview.planId,
    asOf: isoTime(preview.at),
    expiresAt: isoTime(preview.expiresAt),
    creditedDays: preview.creditedDays,
    replacesPlanId: preview.replacedPlanId,
    endsReplacedPlan: preview.endsReplaced,
    nextPlanId: preview.nextPlanId,
  };
}

function encodeTransfer({ bankName, bankBin, accountNumber, accountName, content, amount }: PaymentTransfer) {
  return { bankName, bankBin, accountNumber, accountName, content, amount };
}

/** An order as clients with its code see it: without its account. */
export function encodePaymentStatus(order: OrderRecord) {
  return {
    code: order.code,
    status: order.state,
    amount: order.amount,
    currency: order.currency,
    paidAmount: order.paidAmount,
    createdAt: isoTime(order.createdAt),
    expiresAt: isoTime(order.expiresAt),
    paidAt: isoTime(order.paidAt),
  };
}
