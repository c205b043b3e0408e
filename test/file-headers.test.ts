/* Every source file begins with what it is, a paragraph for a long file and a sentence for a short one, and is not too long. */

import path from 'node:path';
import { expect } from 'chai';
import { headerOf, PARAGRAPH_LINES, sourceFiles, testFiles } from './support/docs/file-headers.js';

/** Words that a paragraph has at least. Fewer cannot say what a file does, promises and costs. */
const PARAGRAPH_WORDS = 30;
const SENTENCE_WORDS = 5;
const SUBJECT_WORDS = 5;
/** Words that a header must have beside those of its file's and folders' names. */
const OWN_WORDS = 4;
/** A longer file has more than one subject. */
const MAX_LINES = 450;

const wordsOf = (text: string) => text.toLowerCase().match(/[a-z0-9]{2,}/g) ?? [];

describe('the comment on top of a source file', () => {
  const files = sourceFiles();

  it('is read from the first lines alone', () => {
    expect(headerOf('/*\n * One.\n * Two.\n *\n * Three.\n */\n\nimport a;\n')).to.equal('One. Two.\n\nThree.');
    expect(headerOf('// One.\n// Two.\n\nimport a;\n')).to.equal('One. Two.');
    expect(headerOf('import a;\n\n/* Below the imports. */\n')).to.equal('');
    expect(headerOf('/** Of the first declaration. */\nexport const one = 1;\n')).to.equal('');
  });

  it('stands above the imports of every file', () => {
    expect(files.filter(({ header }) => header === '').map(({ file }) => file)).to.deep.equal([]);
  });

  it(`is a paragraph in files of ${PARAGRAPH_LINES} lines and more, and a sentence in shorter ones`, () => {
    const short = files.filter(
      ({ header, lines }) => wordsOf(header).length < (lines >= PARAGRAPH_LINES ? PARAGRAPH_WORDS : SENTENCE_WORDS),
    );
    expect(short.map(({ file }) => file)).to.deep.equal([]);
  });

  it('states more than the name of the file', () => {
    const repeating = files.filter(({ file, header }) => {
      const named = new Set(wordsOf(file));
      return new Set(wordsOf(header).filter((word) => !named.has(word))).size < OWN_WORDS;
    });
    expect(repeating.map(({ file }) => file)).to.deep.equal([]);
  });

  it('states the subject of every file of the tests', () => {
    const silent = testFiles().filter(({ header }) => wordsOf(header).length < SUBJECT_WORDS);
    expect(silent.map(({ file }) => file)).to.deep.equal([]);
  });

  it('stands once', () => {
    const seen = new Map<string, string>();
    const repeated: string[] = [];
    for (const { file, header } of files) {
      const twin = seen.get(header);
      // Plugins are named alike by design, but each has a platform or a vendor of its own to name.
      if (twin !== undefined) repeated.push(`${file} repeats ${twin}`);
      seen.set(header, path.posix.normalize(file));
    }
    expect(repeated).to.deep.equal([]);
  });
});

describe('a source file', () => {
  it(`has at most ${MAX_LINES} lines`, () => {
    const long = sourceFiles().filter(({ lines }) => lines > MAX_LINES);
    expect(long.map(({ file, lines }) => `${file}: ${lines}`)).to.deep.equal([]);
  });
});
