const OPTIONS = { errorCorrectionLevel: 'M', margin: 4 } as const;
/** Pixels of a module of the PNG. */
const SCALE = 8;

/** Draws a QR code of error correction M with its quiet zone: markup without a size of its own. */
export async function drawSvg(payload: string): Promise<string> {
  const { default: qrcode } = await import('qrcode');
  return qrcode.toString(payload, { ...OPTIONS, type: 'svg' });
}

/** The same as PNG. */
export async function drawPng(payload: string): Promise<Uint8Array> {
  const { default: qrcode } = await import('qrcode');
  return qrcode.toBuffer(payload, { ...OPTIONS, type: 'png', scale: SCALE });
}
