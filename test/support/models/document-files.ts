/** PDF and office documents, ordinary and hostile. */

import { crc32, deflateRawSync, deflateSync } from 'node:zlib';

/*
 * Files as clients send them to models: PDF and office documents, ordinary ones and those that hold far more than their
 * size says.
 */

/** A stream of a PDF, compressed. @param fields Further ones of its dictionary. */
export function pdfStream(content: string, fields = ''): Buffer {
  const packed = deflateSync(Buffer.from(content, 'latin1'), { level: 9 });
  const head = `<< /Length ${packed.length} /Filter /FlateDecode ${fields}>>\nstream\n`;
  return Buffer.concat([Buffer.from(head), packed, Buffer.from('\nendstream')]);
}

/** A PDF with these objects, from number 1 on; the first one is its catalogue. */
export function pdfFile(objects: readonly (Buffer | string)[], trailer = ''): Buffer {
  const parts = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]);
    offsets.push(length);
    length += part.length;
    parts.push(part);
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer}>>\nstartxref\n${length}\n%%EOF\n`;
  parts.push(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${table}${end}`));
  return Buffer.concat(parts);
}

const HELVETICA = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';

/** A PDF with these lines on each of its pages. */
export function pdfOf(pages: readonly (readonly string[])[], trailer = ''): Buffer {
  const first = 4;
  const kids = pages.map((_, index) => `${first + 2 * index} 0 R`).join(' ');
  const objects = pages.flatMap((lines, index) => {
    const shown = lines.map((line) => `(${line}) Tj T*`).join('\n');
    const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${first + 2 * index + 1} 0 R >>`;
    return [page, pdfStream(`BT /F1 11 Tf 13 TL 50 740 Td\n${shown}\nET`)];
  });
  const tree = `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} /Resources << /Font << /F1 3 0 R >> >> >>`;
  return pdfFile(['<< /Type /Catalog /Pages 2 0 R >>', tree, HELVETICA, ...objects], trailer);
}

/** A PDF with one page, whose content stream is given. @param objects Further ones, from number 6 on. */
export function pdfWith(
  content: Buffer | string,
  objects: readonly (Buffer | string)[] = [],
  font = HELVETICA,
): Buffer {
  const resources = '<< /Font << /F1 5 0 R >> /XObject << /X1 6 0 R /X2 7 0 R /X3 8 0 R >> >>';
  return pdfFile([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources ${resources} >>`,
    typeof content === 'string' ? pdfStream(content) : content,
    font,
    ...objects,
  ]);
}

/** A zip archive with compressed parts. */
export function zipOf(files: Readonly<Record<string, Buffer | string>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const whole = Buffer.from(content);
    const packed = deflateRawSync(whole, { level: 9 });
    // From the version that is needed to the sizes, then the lengths of the name and of further fields.
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(8, 4);
    fields.writeUInt32LE(crc32(whole), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(whole.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), fields, rest, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, entries, end]);
}

export function docxOf(paragraphs: readonly string[]): Buffer {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('');
  return zipOf({
    '[Content_Types].xml': '<Types/>',
    'word/document.xml': `<?xml version="1.0"?><w:document><w:body>${body}</w:body></w:document>`,
  });
}

/** A workbook of one sheet, whose cells all have the same text. */
export function xlsxOf(text: string, cells: number): Buffer {
  const row = `<row r="1">${Array.from({ length: cells }, () => '<c r="A1" t="s"><v>0</v></c>').join('')}</row>`;
  return zipOf({
    'xl/workbook.xml': '<workbook><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/sharedStrings.xml': `<sst><si><t>${text}</t></si></sst>`,
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${row}</sheetData></worksheet>`,
  });
}

/** A WAV file of silence: 8 kHz, 8 bits. */
export function wavOf(seconds: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + seconds * 8_000, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(seconds * 8_000, 40);
  return Buffer.concat([head, Buffer.alloc(seconds * 8_000, 128)]);
}
