/* The words of a prompt that decide what is drawn. In Vietnamese whole words count, since beginnings of them mean much else. */

export type Kind = 'hills' | 'sea' | 'town';

/** English and Vietnamese words that ask for a kind of landscape; otherwise chance decides. */
const KIND_WORDS: readonly (readonly [Kind, RegExp])[] = [
  ['sea', /\b(?:sea|ocean|water|wave|boat|ship|tug|harbou?r|quay|lighthouse|lake|river|beach|fish|island|sail)/i],
  ['sea', anyOf('biển', 'sóng', 'thuyền', 'tàu', 'cảng', 'bến', 'vịnh', 'hồ', 'sông', 'đảo', 'cá')],
  ['town', /\b(?:city|town|street|house|building|tower|shop|room|office|village|bridge|castle|robot|car)/i],
  ['town', anyOf('phố', 'nhà', 'cầu', 'làng', 'chợ', 'chùa', 'quán', 'phòng')],
  ['hills', /\b(?:hill|mountain|forest|tree|field|garden|flower|valley|snow|desert|farm|fox|cat|dog|bird)/i],
  ['hills', anyOf('núi', 'đồi', 'rừng', 'cây', 'ruộng', 'đồng', 'vườn', 'hoa', 'cáo', 'mèo', 'chó', 'chim')],
];

/** English and Vietnamese words that name a colour by the palettes that have them. */
const COLOUR_WORDS: readonly RegExp[] = [
  anyOf('blue', 'steel', 'ice', 'winter', 'snow', 'rain', 'mùa đông', 'tuyết', 'mưa'),
  anyOf('red', 'pink', 'rose', 'dusk', 'dawn', 'sunset', 'love', 'đỏ', 'hồng', 'bình minh', 'hoàng hôn'),
  anyOf('green', 'forest', 'spring', 'grass', 'leaf', 'garden', 'rừng', 'mùa xuân', 'cỏ', 'vườn', 'ruộng'),
  anyOf('violet', 'purple', 'night', 'lavender', 'dream', 'magic', 'tím', 'đêm'),
  anyOf('yellow', 'gold', 'golden', 'desert', 'autumn', 'sand', 'orange', 'vàng', 'cam', 'mùa thu', 'cát'),
  anyOf('teal', 'turquoise', 'sea', 'ocean', 'island', 'tropical', 'biển', 'đảo'),
  anyOf('grey', 'gray', 'black', 'white', 'fog', 'stone', 'city', 'xám', 'đen', 'trắng', 'sương mù'),
];

/** A pattern of whole words. */
function anyOf(...words: readonly string[]): RegExp {
  return new RegExp(`(?<!\\p{L})(?:${words.join('|')})(?!\\p{L})`, 'iu');
}

/** The kind of landscape that a prompt asks for. */
export function kindOf(prompt: string): Kind | undefined {
  const text = prompt.normalize();
  return KIND_WORDS.find(([, words]) => words.test(text))?.[0];
}

/** Position of the palette whose colour a prompt names; -1 if it names none. */
export function colourNamed(prompt: string): number {
  const text = prompt.normalize();
  return COLOUR_WORDS.findIndex((words) => words.test(text));
}
