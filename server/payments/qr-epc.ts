/** A transfer in euros within SEPA. */
export interface EpcTransfer {
  /** At most 70 characters. */
  name: string;
  /** Without blanks. */
  iban: string;
  /** Null within the European Economic Area. */
  bic: string | null;
  /** Cents, from 1 to 99,999,999,999. */
  amount: number;
  /** Creditor reference of ISO 11649. */
  reference: string;
}

/** Bytes that a payload may have. */
export const EPC_MAX_BYTES = 331;

/** The payload of EPC069-12, version 002: a line for each member, the last one that says something ends it. */
export function encodeEpc({ name, iban, bic, amount, reference }: EpcTransfer): string {
  const euros = `EUR${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`;
  const [utf8, noPurpose] = ['1', ''];
  return ['BCD', '002', utf8, 'SCT', bic ?? '', name, iban, euros, noPurpose, reference].join('\n');
}

/** The creditor reference of ISO 11649 around 1 to 21 capital letters and digits, with its check digits. */
export function creditorReference(text: string): string {
  return `RF${String(98 - remainder97(`${text}RF00`)).padStart(2, '0')}${text}`;
}

/** Whether it is made as an IBAN is, and its check digits are right. */
export function isIban(text: string): boolean {
  return /^[A-Z]{2}\d{2}[0-9A-Z]{11,30}$/.test(text) && isChecked(text);
}

/** Whether the check digits of an IBAN or a creditor reference are right. */
export function isChecked(text: string): boolean {
  return remainder97(text.slice(4) + text.slice(0, 4)) === 1;
}

/** MOD 97-10 of ISO 7064; letters count from 10. */
function remainder97(text: string): number {
  let remainder = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}
