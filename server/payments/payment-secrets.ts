/** Who may tell of transfers. */
const PAYMENT_PROVIDERS = ['generic', 'payos', 'sepay'] as const;

export type PaymentProvider = (typeof PAYMENT_PROVIDERS)[number];

/** What is shared with each of those that may. */
export type PaymentSecrets = Readonly<Partial<Record<PaymentProvider, string>>>;

const MIN_LENGTH = 32;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Reads `payos:SECRET,sepay:SECRET`. @throws Error whose message says what is accepted. */
export function readPaymentSecrets(text: string): PaymentSecrets {
  const secrets = new Map<PaymentProvider, string>();
  for (const part of text.split(',')) {
    const [name = '', ...rest] = part.trim().split(':');
    const provider = PAYMENT_PROVIDERS.find((one) => one === name);
    const secret = rest.join(':');
    if (!provider || secrets.has(provider) || secret.length < MIN_LENGTH || !VISIBLE.test(secret)) {
      throw new Error(
        `${PAYMENT_PROVIDERS.join(':SECRET, ')}:SECRET, or some of them: each once, each secret of ${MIN_LENGTH} characters or more`,
      );
    }
    secrets.set(provider, secret);
  }
  return Object.fromEntries(secrets);
}
