/** Plans with prices, for tests of payments. */

import type { PaymentReceiver } from '../../../server/payments/index.js';
import { type Catalogue, DEFAULT_CATALOGUE } from '../../../server/plans/index.js';

/** The plans of the service document, with prices that everybody may see. */
export const PRICED_PLANS: Catalogue = {
  ...DEFAULT_CATALOGUE,
  prices: [
    { planId: 'token_30m', amount: 1_900, currency: 'EUR' },
    { planId: 'token_100m', amount: 4_900, currency: 'EUR' },
  ],
  publicPriceTablesVisible: true,
  support: { ...DEFAULT_CATALOGUE.support, email: 'help@harbour.example' },
};

/** An account that takes euros. */
export const EURO_RECEIVER: PaymentReceiver = {
  format: 'epc',
  bankName: 'Harbour Bank',
  bankBin: null,
  accountNumber: 'DE89370400440532013000',
  accountName: 'Mediagate Ltd',
};
