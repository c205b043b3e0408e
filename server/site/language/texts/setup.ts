/*
 * Texts of the page of client setups. English summaries of the clients are those of the setup for programs.
 */

import { type Html, html } from '../../html.js';

const en = {
  title: 'Client setup',
  description: 'Copy a working setup for curl, the OpenAI packages or a coding agent.',
  lead: 'From a key to a first answer in three steps.',
  steps: { key: 'Create a key', client: 'Set up a client', check: 'Check that it works' },
  keyWords: (variable: Html) =>
    html`It is shown once. Keep it in ${variable}, out of code and shared files: all examples read it there. Clients of OpenAI’s API read the other two.`,
  /** In a command, in place of the key. */
  yourKey: 'your API key',
  toKeys: 'Open the keys',
  signIn: 'Sign in to create one',
  checkWords: 'This request costs nothing. With status 200 it lists the models that the key may use, and all is ready.',
  checkHelp: html`With an error 401 the variable is not set in this shell, or the key has ended. <a href="/docs/api/errors">All errors</a> with their remedies.`,
  nextTitle: 'Next',
  next: {
    playground: { title: 'Playground', words: 'Try links, chats, images and audio without code.' },
    models: { title: 'Models', words: 'What is ready, with routes and limits.' },
    docs: { title: 'Documentation', words: 'Guides, and each route with examples to copy.' },
    agents: { title: 'Agents', words: 'Give coding agents the tools of this gateway.' },
  },
  signedIn: html`You create keys on <a href="/dashboard">the dashboard</a>.`,
  signedOut: html`<a href="/login?return_to=/dashboard">Sign in</a> to create one.`,
  address: 'Address',
  header: 'Header',
  clients: 'Clients',
  environment: 'Environment',
  shell: 'Shell',
  /** The title of a file that does what a command above does. */
  orFile: (path: string) => `${path}, in place of the command`,
  /** Short, so that all stand in a line. Default: the title. */
  tabs: { 'openai-node': 'Node.js', 'openai-python': 'Python' } as Readonly<Record<string, string>>,
  /** Default: the title for programs, which is a name. */
  titles: { 'mcp-codex': 'Codex' } as Readonly<Record<string, string>>,
  /** Default: the summary for programs. */
  summaries: {
    curl: 'A first answer, an image as a job, the data behind a link. The last two need the grants images and extract.',
  } as Readonly<Record<string, string>>,
};

const vi: typeof en = {
  title: 'Cài đặt',
  description: 'Sao chép cấu hình dùng được ngay cho curl, SDK của OpenAI hoặc trợ lý lập trình.',
  lead: 'Ba bước, từ lúc tạo khóa API đến câu trả lời đầu tiên.',
  steps: { key: 'Tạo khóa', client: 'Cài đặt chương trình', check: 'Kiểm tra kết nối' },
  keyWords: (variable) =>
    html`Khóa chỉ hiện một lần. Hãy lưu trong ${variable}, đừng để trong mã nguồn hay tệp chia sẻ: mọi ví dụ đọc khóa ở đó. Các chương trình dùng API của OpenAI đọc hai biến còn lại.`,
  yourKey: 'khóa API của bạn',
  toKeys: 'Mở trang khóa',
  signIn: 'Đăng nhập để tạo khóa',
  checkWords:
    'Yêu cầu này miễn phí. Với trạng thái 200, nó liệt kê các mô hình mà khóa được dùng: mọi thứ đã sẵn sàng.',
  checkHelp: html`Nếu gặp lỗi 401, biến chưa được đặt trong cửa sổ dòng lệnh này hoặc khóa đã hết hạn. <a href="/docs/api/errors">Mọi lỗi</a> và cách xử lý.`,
  nextTitle: 'Tiếp theo',
  next: {
    playground: { title: 'Dùng thử', words: 'Thử liên kết, trò chuyện, ảnh và âm thanh không cần viết mã.' },
    models: { title: 'Mô hình', words: 'Những gì sẵn sàng, kèm đường dẫn và giới hạn.' },
    docs: { title: 'Tài liệu', words: 'Hướng dẫn và từng đường dẫn với ví dụ để sao chép.' },
    agents: { title: 'Tác nhân', words: 'Cho trợ lý lập trình dùng các công cụ của dịch vụ này.' },
  },
  signedIn: html`Bạn tạo khóa ở <a href="/dashboard">trang tài khoản</a>.`,
  signedOut: html`<a href="/login?return_to=/dashboard">Đăng nhập</a> để tạo khóa.`,
  address: 'Địa chỉ',
  header: 'Header HTTP',
  clients: 'Chương trình',
  environment: 'Biến môi trường',
  shell: 'Dòng lệnh',
  orFile: (path) => `${path}, thay cho lệnh trên`,
  tabs: {
    'openai-node': 'Node.js',
    'openai-python': 'Python',
    'mcp-inspector': 'Kiểm tra',
  },
  titles: {
    'openai-node': 'SDK OpenAI cho Node.js',
    'openai-python': 'SDK OpenAI cho Python',
    'mcp-codex': 'Codex',
    'mcp-inspector': 'Trình kiểm tra',
  },
  summaries: {
    curl: 'Câu trả lời đầu tiên, một ảnh bằng tác vụ, dữ liệu của một liên kết. Hai việc sau cần quyền dùng ảnh và dữ liệu liên kết.',
    'openai-node': 'SDK nguyên bản với địa chỉ khác. Dành cho máy chủ: khóa không bao giờ nằm trong trang web.',
    'openai-python': 'SDK nguyên bản với địa chỉ khác.',
    codex: 'Thêm dịch vụ này vào Codex; Codex lấy khóa từ biến môi trường.',
    'mcp-claude-code':
      'Thêm công cụ vào Claude Code; nếu không dùng khóa, hãy nhập /mcp ở đó để đăng nhập. Với cả dự án, tệp có tác dụng tương tự: Claude Code hỏi một lần trước khi dùng.',
    'mcp-codex': 'Thêm công cụ vào Codex.',
    'mcp-vscode': 'Thêm công cụ cho tác nhân của VS Code trong một dự án.',
    'mcp-inspector': 'Liệt kê công cụ bằng trình kiểm tra của giao thức, để xem khóa được dùng những gì.',
  },
};

export const setup = { en, vi };
