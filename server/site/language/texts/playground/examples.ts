/*
 * Texts of the examples of results on the home page and in the playground. What the platform wrote, such as the title and
 * the chapters of the video, is the same in both languages.
 */

const en = {
  example: 'Example',
  dawn: 'Two tugs in a harbour at dawn, cranes behind them',
  night: 'The same harbour by night, under a full moon',
  dawnPrompt: 'A tug at dawn',
  nightPrompt: 'The same harbour by night',
  edited: 'A picture, and an edit of it.',
  views: 'Views',
  likes: 'Likes',
  comments: 'Comments',
  files: 'Files',
  transcript: 'transcript',
  chapters: 'Chapters',
  question: 'Which of these harbours are the deepest?',
  head: ['Harbour', 'Country', 'Depth'],
  countries: ['Netherlands', 'Greece', 'Vietnam'],
};

const vi: typeof en = {
  example: 'Ví dụ',
  dawn: 'Hai tàu kéo trong cảng lúc bình minh, phía sau là cần cẩu',
  night: 'Vẫn cảng đó vào ban đêm, dưới trăng tròn',
  dawnPrompt: 'Tàu kéo lúc bình minh',
  nightPrompt: 'Vẫn cảng đó vào ban đêm',
  edited: 'Một ảnh và bản đã sửa của nó.',
  views: 'Lượt xem',
  likes: 'Lượt thích',
  comments: 'Bình luận',
  files: 'Các tệp',
  transcript: 'bản chép lời',
  chapters: 'Các chương',
  question: 'Cảng nào trong số này sâu nhất?',
  head: ['Cảng', 'Quốc gia', 'Độ sâu'],
  countries: ['Hà Lan', 'Hy Lạp', 'Việt Nam'],
};

export const examples = { en, vi };
