/** A transfer in đồng to an account at a bank in Vietnam. */
export interface VietQrTransfer {
  /** Six digits, by NAPAS. */
  bankBin: string;
  /** 1 to 19 letters and digits. */
  accountNumber: string;
  /** Whole đồng, of 13 digits at most. */
  amount: number;
  /** What the transfer says: 1 to 25 letters and digits. */
  purpose: string;
}

const NAPAS = 'A000000727';
const TO_ACCOUNT = 'QRIBFTTA';
const DONG = '704';
/** Good for one transfer of one amount. */
const DYNAMIC = '12';
const CHECKSUM = '6304';

/** The payload of VietQR: EMVCo's fields in the order that NAPAS has them, the checksum last. */
export function encodeVietQr({ bankBin, accountNumber, amount, purpose }: VietQrTransfer): string {
  const beneficiary = field('00', bankBin) + field('01', accountNumber);
  const fields = [
    field('00', '01'),
    field('01', DYNAMIC),
    field('38', field('00', NAPAS) + field('01', beneficiary) + field('02', TO_ACCOUNT)),
    field('53', DONG),
    field('54', String(amount)),
    field('58', 'VN'),
    field('62', field('08', purpose)),
  ];
  const checked = fields.join('') + CHECKSUM;
  return checked + crc16(checked).toString(16).toUpperCase().padStart(4, '0');
}

/** Tag, length in two digits, value. */
function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value;
}

/** CRC-16/CCITT-FALSE of ASCII text: polynomial 1021, begun with FFFF. */
export function crc16(text: string): number {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'latin1')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
