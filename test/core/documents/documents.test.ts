/** Tokens of files in requests to models. */

import { expect } from 'chai';
import { type FileContent, ReadingLimits, readFile, UnreadableDocument } from '../../../core/documents/index.js';
import {
  docxOf,
  pdfFile,
  pdfOf,
  pdfStream,
  pdfWith,
  wavOf,
  xlsxOf,
  zipOf,
} from '../../support/models/document-files.js';

const read = (bytes: Buffer): FileContent => readFile(bytes, new ReadingLimits());
const words = (bytes: Buffer): string => read(bytes).text.replaceAll(/\s+/g, ' ').trim();
const why = (bytes: Buffer): string => {
  try {
    return `is read: ${words(bytes)}`;
  } catch (error) {
    if (error instanceof UnreadableDocument) return error.message;
    throw error;
  }
};

/** A frame of MPEG 1, layer III: 128 kbit/s at 44.1 kHz. */
const mp3Frame = () => Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413)]);

describe('content of a file in a request', () => {
  it('is the text of a PDF in any encoding', () => {
    const page = (content: string) => words(pdfWith(`BT /F1 9 Tf ${content} ET`));
    expect(page('(A \\(tug\\) at \\101 \\\nquay) Tj')).to.equal('A (tug) at A quay');
    expect(page('[(Os) 20 (tend) -300 (pier)] TJ')).to.equal('Ostend pier');
    expect(page("<54 75 67> Tj % (no text)\n(two) '")).to.equal('Tugtwo');
    expect(page('(tug) Tj ET BI /W 1 ID (\\x EI BT (pier) Tj')).to.equal('tug pier');
    const packed = Buffer.from('<< /Length 30 /Filter [/ASCIIHexDecode] >>\nstream\n4254202874756729 546a>\nendstream');
    expect(words(pdfWith(packed))).to.equal('tug');
    const wide = `/Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H`;
    const map = pdfStream('2 beginbfrange <0001> <0003> <0061> <0010> <0011> [<0074> <00750067>] endbfrange');
    const content = 'BT /F1 9 Tf <000100020003> Tj <00100011> Tj ET';
    expect(words(pdfWith(content, [map], `<< ${wide} /ToUnicode 6 0 R >>`))).to.equal('abctug');
  });

  it('counts the longest version of a page for each reference', () => {
    const file = pdfOf([['one'], ['two']]);
    expect(read(file)).to.include({ pages: 2, text: 'one two \n'.replace(' two', ' \ntwo') });
    const changed = '5 0 obj\n<< /Length 40 >>\nstream\nBT (a much longer first page) Tj ET\nendstream\nendobj\n';
    const both = Buffer.concat([file, Buffer.from(changed)]);
    expect(read(both).pages).to.equal(2);
    expect(words(both)).to.contain('a much longer first page').and.contain('two');
    const again = pdfFile([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R 3 0 R 3 0 R] /Count 1 >>',
      '<< /Type /Page /Contents 4 0 R >>',
      pdfStream('BT (tug) Tj ET'),
    ]);
    expect([read(again).pages, words(again)]).to.deep.equal([3, 'tug tug tug']);
  });

  it('is the text of an office document, and of referenced cells', () => {
    expect(words(docxOf(['A tug', 'at the pier']))).to.equal('A tug at the pier');
    expect(words(xlsxOf('tug', 3))).to.equal('tug tug tug');
    const twice = zipOf({
      'ppt/presentation.xml': '<p:sldIdLst><p:sldId id="1"/><p:sldId id="2"/></p:sldIdLst>',
      'ppt/slides/slide1.xml': '<p:sld><a:t>tug</a:t></p:sld>',
    });
    expect(why(twice)).to.equal('has a sheet or slide several times');
    const entities = zipOf({ 'word/document.xml': '<!DOCTYPE a [<!ENTITY b "tug">]><w:t>&b;</w:t>' });
    expect(why(entities)).to.equal('has parts with entities of their own');
  });

  it('is the text of a plain file, or the length of audio', () => {
    expect(words(Buffer.from('Tàu kéo;1'))).to.equal('Tàu kéo;1');
    expect(words(Buffer.from('Hafen f\xfcr Schlepper', 'latin1'))).to.equal('Hafen für Schlepper');
    expect(words(Buffer.from('\ufefftug', 'utf16le'))).to.equal('tug');
    expect(read(wavOf(3)).seconds).to.be.closeTo(3, 0.1);
    const mp3 = Buffer.concat(Array.from({ length: 100 }, mp3Frame));
    expect(read(mp3).seconds).to.be.closeTo((100 * 1_152) / 44_100, 0.001);
  });

  it('includes the text that the request states', () => {
    const long = 'a tug '.repeat(1_000);
    const called = (type: string, filename?: string) =>
      readFile(Buffer.concat([pdfOf([['tug']]), Buffer.from(`\x01${long}`)]), new ReadingLimits(), { type, filename });
    for (const pdf of [
      called('application/pdf'),
      called('application/pdf', 'a.txt'),
      called('', 'a.PDF'),
      called(''),
    ]) {
      expect(pdf).to.include({ pages: 1, text: 'tug \n' });
    }
    for (const text of [
      called('text/plain'),
      called('application/octet-stream', 'a.py'),
      called('text/csv', 'a.pdf'),
    ]) {
      expect(text.text).to.contain(long);
    }
    const image = Buffer.from(`GIF8${long}`);
    expect(readFile(image, new ReadingLimits(), { type: 'text/plain' })).to.include({
      isImage: true,
      text: `GIF8${long}`,
    });
  });

  it('is not read if hidden content may count', () => {
    const content = (filter: string) => Buffer.from(`<< /Length 3 /Filter /${filter} >>\nstream\nabc\nendstream`);
    const unread: [Buffer, string][] = [
      [pdfWith(content('LZWDecode')), 'has text in a form that is not read (LZWDecode)'],
      [pdfWith(content('FlateDecode')), 'is damaged'],
      [pdfOf([['a']], '/Encrypt 9 0 R '), 'is an encrypted PDF'],
      [pdfWith('['.repeat(100)), 'is nested too deeply'],
      [zipOf({ 'word/a.xml': '' }), 'is an archive that is no docx, xlsx or pptx file'],
      [docxOf(['a']).subarray(0, 60), 'is a damaged archive'],
      [Buffer.from('fLaC\0\0'), 'is of a kind that is not read'],
    ];
    for (const [file, reason] of unread) expect(why(file)).to.equal(reason);
  });
});
