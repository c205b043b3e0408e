/** Reads a ZIP of stored and deflated files by its directory, as programs do, and checks each header, length and checksum. */

import { crc32, inflateRawSync } from 'node:zlib';

/** @throws Error if it is no whole archive. */
export function readZip(archive: Buffer): { name: string; content: Buffer }[] {
  const end = archive.length - 22;
  if (end < 0 || archive.readUInt32LE(end) !== 0x06054b50) throw new Error('the archive has no end');
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  if (at + archive.readUInt32LE(end + 12) !== end) throw new Error('the directory has another length');
  return Array.from({ length: count }, () => {
    if (archive.readUInt32LE(at) !== 0x02014b50) throw new Error('an entry of the directory is damaged');
    const [crc, stored, size] = [16, 20, 24].map((field) => archive.readUInt32LE(at + field)) as [
      number,
      number,
      number,
    ];
    const method = archive.readUInt16LE(at + 10);
    const length = archive.readUInt16LE(at + 28);
    const name = archive.subarray(at + 46, at + 46 + length);
    const header = archive.readUInt32LE(at + 42);
    at += 46 + length;
    const from = header + 30 + length;
    const isSame =
      archive.readUInt32LE(header) === 0x04034b50 &&
      archive.readUInt16LE(header + 8) === method &&
      archive.subarray(header + 30, from).equals(name);
    const bytes = archive.subarray(from, from + stored);
    const content = method === 8 ? inflateRawSync(bytes) : bytes;
    const sums = [4, 8, 12].map((field) => archive.readUInt32LE(from + stored + field));
    const isSummed = `${sums}` === `${[crc, stored, size]}` && crc32(content) === crc && content.length === size;
    if (!isSame || !isSummed) throw new Error(`the file ${name} is damaged`);
    return { name: name.toString(), content };
  });
}
