/** QR payloads, and the receiving account. */

import { expect } from 'chai';
import { checksum, decode, parse } from 'promptparse';
import qrcode from 'qrcode';
import sharp from 'sharp';
import {
  contentOf,
  crc16,
  creditorReference,
  drawPng,
  drawSvg,
  encodeVietQr,
  isChecked,
  isIban,
  payloadOf,
  type ReceiverSettings,
  readReceiver,
} from '../../../server/payments/transfer-qr.js';
import { DONG_ACCOUNT, EURO_ACCOUNT } from './app.js';

const TRANSFER = { bankBin: '970436', accountNumber: '1234567890', amount: 299_000, purpose: 'GW7K3M9QXD' };
const KNOWN =
  '00020101021238540010A00000072701240006970436011012345678900208QRIBFTTA530370454062990005802VN62140810GW7K3M9QXD6304ED2E';
/** As NAPAS prints it: with the number of a bill, which orders have none of. */
const WITH_BILL =
  '00020101021238570010A00000072701270006970403011300110123456780208QRIBFTTA530370454061800005802VN62340107NPS68690819thanh toan don hang63042E2E';

describe('VietQR payloads', () => {
  it('equal known correct ones', () => {
    expect(crc16('123456789').toString(16)).to.equal('29b1');
    expect(encodeVietQr(TRANSFER)).to.equal(KNOWN);
  });

  it('equal the printed one up to the bill number, with valid checksums', () => {
    const printed = { bankBin: '970403', accountNumber: '0011012345678', amount: 180_000, purpose: 'x' };
    const upToBill = encodeVietQr(printed).split('62050801x')[0] ?? '';
    expect(upToBill).to.equal(WITH_BILL.slice(0, WITH_BILL.indexOf('62340107')));
    expect(crc16(WITH_BILL.slice(0, -4)).toString(16).toUpperCase()).to.equal('2E2E');
  });

  it('are decoded by other libraries', () => {
    const payload = encodeVietQr(TRANSFER);
    const read = parse(payload, true);
    expect(read?.validate('63')).to.equal(true);
    const account = decode(read?.getTagValue('38', '01') ?? '');
    expect(account.map(({ id, value }) => [id, value])).to.deep.equal([
      ['00', '970436'],
      ['01', '1234567890'],
    ]);
    for (const [value, tag, part] of [
      ['12', '01'],
      ['A000000727', '38', '00'],
      ['QRIBFTTA', '38', '02'],
      ['704', '53'],
      ['299000', '54'],
      ['GW7K3M9QXD', '62', '08'],
    ] as [string, string, string?][])
      expect(read?.getTagValue(tag, part), `${tag} ${part}`).to.equal(value);
    for (const amount of [1, 9, 123_456_789, 1_000_000_000_000]) {
      const other = encodeVietQr({ ...TRANSFER, amount });
      expect(other.slice(-4)).to.equal(checksum(other.slice(0, -4)));
      expect(parse(other, true)?.getTagValue('54')).to.equal(String(amount));
    }
  });
});

describe('EPC payloads', () => {
  it('have the lines of EPC069-12, with the code in a creditor reference', () => {
    const { receiver } = readReceiver(EURO_ACCOUNT);
    if (!receiver) return expect.fail('no receiver');
    const payload = payloadOf(receiver, { code: 'MG7K3M9QXD', amount: 1_205 });
    const reference = creditorReference('MG7K3M9QXD');
    expect(payload.split('\n')).to.deep.equal([
      'BCD',
      '002',
      '1',
      'SCT',
      '',
      'Örtliche Werke GmbH',
      'DE89370400440532013000',
      'EUR12.05',
      '',
      reference,
    ]);
    expect(contentOf(receiver, 'MG7K3M9QXD')).to.equal(reference);
    expect(payloadOf(receiver, { code: 'MG7K3M9QXD', amount: 7 })).to.contain('\nEUR0.07\n');
  });

  it('check references and IBANs by ISO 7064', () => {
    expect(creditorReference('GW7K3M9QXD')).to.equal('RF07GW7K3M9QXD');
    expect(isChecked('RF18539007547034')).to.equal(true);
    expect(isChecked('RF19539007547034')).to.equal(false);
    for (const iban of ['DE89370400440532013000', 'GB82WEST12345698765432', 'NO9386011117947']) {
      expect(isIban(iban)).to.equal(true);
      const swapped = iban.slice(0, -2) + (iban.at(-1) ?? '') + (iban.at(-2) ?? '');
      expect(isIban(iban.at(-1) === iban.at(-2) ? `${iban.slice(0, -1)}9` : swapped)).to.equal(false);
    }
  });
});

describe('receiving account', () => {
  const problems = (change: Partial<ReceiverSettings>, account = DONG_ACCOUNT) =>
    readReceiver({ ...account, ...change }).problems.join('\n');

  it('accepts a complete account with blanks', () => {
    expect(readReceiver(DONG_ACCOUNT).receiver).to.include({ bankBin: '970436', accountNumber: '1234567890' });
    const grouped = { ...EURO_ACCOUNT, paymentAccount: 'de89 3704 0044 0532 0130 00' };
    expect(readReceiver(grouped).receiver).to.include({ accountNumber: 'DE89370400440532013000', bankBin: null });
    expect(readReceiver({ paymentFormat: 'epc' })).to.deep.equal({ problems: [] });
  });

  it('is refused with the name of the setting', () => {
    expect(problems({ paymentBankName: undefined })).to.match(
      /^PAYMENT_BANK_NAME must be set as well, since PAYMENT_ACCOUNT is/,
    );
    expect(problems({ paymentAccountName: 'x'.repeat(71) })).to.match(/^PAYMENT_ACCOUNT_NAME must be/);
    expect(problems({ paymentAccountName: 'a\u202eb' })).to.match(/^PAYMENT_ACCOUNT_NAME must be/);
    expect(problems({ paymentBankBin: '97043' })).to.match(/^PAYMENT_BANK_BIN must be/);
    expect(problems({ paymentAccount: '1'.repeat(20) })).to.match(/^PAYMENT_ACCOUNT must be/);
    expect(problems({ paymentAccount: 'DE88370400440532013000' }, EURO_ACCOUNT)).to.match(/^PAYMENT_ACCOUNT must be/);
    expect(problems({ paymentBankBin: '970436' }, EURO_ACCOUNT)).to.match(/^PAYMENT_BANK_BIN must be/);
    expect(problems({ paymentAccountName: '𝕏'.repeat(70) }, EURO_ACCOUNT)).to.match(
      /^PAYMENT_ACCOUNT_NAME must be shorter/,
    );
  });
});

describe('QR code images', () => {
  const payload = encodeVietQr(TRANSFER);
  const { modules } = qrcode.create(payload, { errorCorrectionLevel: 'M' });
  const QUIET = 4;

  // The gateway reads no SVG, and has sharp refuse it for the whole process once it has looked at a picture; a camera would.
  const SVG = { operation: ['VipsForeignLoadSvg'] };
  before(() => sharp.unblock(SVG));
  after(() => sharp.block(SVG));

  /** What a camera sees: dark or light, module for module. */
  async function look(picture: Uint8Array): Promise<boolean[]> {
    const { data, info } = await sharp(picture, { density: 300 })
      .flatten({ background: '#fff' })
      .greyscale()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const all = modules.size + 2 * QUIET;
    const size = info.width / all;
    expect(info.height).to.equal(info.width);
    const at = (row: number, column: number) =>
      (data[(Math.floor((row + 0.5) * size) * info.width + Math.floor((column + 0.5) * size)) * info.channels] ?? 0) <
      128;
    return Array.from({ length: all * all }, (_, index) => at(Math.floor(index / all), index % all));
  }

  const wanted = (() => {
    const all = modules.size + 2 * QUIET;
    return Array.from({ length: all * all }, (_, index) => {
      const [row, column] = [Math.floor(index / all) - QUIET, (index % all) - QUIET];
      const isInside = row >= 0 && column >= 0 && row < modules.size && column < modules.size;
      return isInside && Boolean(modules.get(row, column));
    });
  })();

  it('show the code with its quiet zone, as PNG and as SVG', async () => {
    expect(await look(await drawPng(payload))).to.deep.equal(wanted);
    const svg = await drawSvg(payload);
    expect(await look(Buffer.from(svg))).to.deep.equal(wanted);
  });

  it('appear in a page without scripts, styles or foreign addresses', async () => {
    const svg = await drawSvg(payload);
    expect(svg).not.to.match(/<(?!\/?svg|\/?path)|style=|href|on\w+=/);
    expect(svg.length).to.be.below(16_000);
  });
});
