import { GatewayError } from 'mediagate';

const ASCII_FOR: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '–': ' - ',
  '—': ' - ',
  '−': '-',
  '×': ' times ',
  '÷': ' divided by ',
  '°': ' degrees ',
  '€': ' euros ',
  '£': ' pounds ',
  æ: 'ae',
  Æ: 'Ae',
  œ: 'oe',
  Œ: 'Oe',
  ß: 'ss',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ł: 'l',
  Ł: 'L',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};
/** Longer sentences are spoken in parts: what is spoken at once is also heard only once it is all there. */
const LONGEST = 300;
/** After these, a point ends no sentence. */
const ABBREVIATION = /(?:^|\s|\()(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Mt|e\.g|i\.e|etc|approx)\.\s*$/;

/**
 * A text in the letters that the engine reads. Marks over and under letters are left out, signs that are no words too.
 * @throws GatewayError `unsupported_value` for letters of other scripts, `invalid_value` where no word is left.
 */
export function readableText(text: string): string {
  const plain = [...text.normalize('NFKC')].map((character) => ASCII_FOR[character] ?? character).join('');
  const bare = plain.normalize('NFKD').replace(/\p{M}/gu, '');
  if (/(?=\P{ASCII})[\p{L}\p{N}]/u.test(bare)) {
    throw new GatewayError('unsupported_value', 'The offline engine reads the Latin alphabet only, and as English.', {
      param: 'input',
    });
  }
  const readable = bare.replace(/[^\x21-\x7e]+/g, ' ').trim();
  if (/[A-Za-z0-9]/.test(readable)) return readable;
  throw new GatewayError('invalid_value', 'There is no word to speak.', { param: 'input' });
}

/** A text in parts of a sentence each, at most 300 characters. */
export function splitSpeech(text: string): string[] {
  const sentences: string[] = [];
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'sentence' }).segment(text)) {
    const last = sentences.at(-1);
    if (last !== undefined && ABBREVIATION.test(last)) sentences[sentences.length - 1] = last + segment;
    else sentences.push(segment);
  }
  return sentences.flatMap(splitSentence).filter((part) => /[A-Za-z0-9]/.test(part));
}

function splitSentence(sentence: string): string[] {
  const parts: string[] = [];
  let rest = sentence.trim();
  while (rest.length > LONGEST) {
    const head = rest.slice(0, LONGEST);
    const comma = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '), head.lastIndexOf(': ')) + 1;
    const space = head.lastIndexOf(' ');
    const end = comma > LONGEST / 3 ? comma : space > 0 ? space : LONGEST;
    parts.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...parts, rest];
}
