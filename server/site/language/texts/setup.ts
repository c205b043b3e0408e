/*
 * Texts of the page of client setups. English summaries of the clients are those of the setup for programs.
 */

import { type Html, html } from '../../html.js';

const en = {
  title: 'Client setup',
  description: 'Copy a working setup for curl, the OpenAI packages or a coding agent.',
  lead: (variable: Html) =>
    html`All examples read the key from ${variable}, so that it never gets into a file that is shared.`,
  signedIn: html`You create keys on <a href="/dashboard">the dashboard</a>.`,
  signedOut: html`<a href="/login?return_to=/dashboard">Sign in</a> to create one.`,
  address: 'Address',
  header: 'Header',
  clients: 'Clients',
  shell: 'Shell',
  /** Default: the title for programs, which is a name. */
  titles: { env: 'Environment variable', 'mcp-codex': 'Codex' } as Readonly<Record<string, string>>,
  /** Default: the summary for programs. */
  summaries: {} as Readonly<Record<string, string>>,
};

const vi: typeof en = {
  title: 'Cài đặt',
  description: 'Sao chép cấu hình dùng được ngay cho curl, SDK của OpenAI hoặc trợ lý lập trình.',
  lead: (variable) => html`Mọi ví dụ đọc khóa từ ${variable}, nên khóa không bao giờ nằm trong tệp được chia sẻ.`,
  signedIn: html`Bạn tạo khóa ở <a href="/dashboard">bảng điều khiển</a>.`,
  signedOut: html`<a href="/login?return_to=/dashboard">Đăng nhập</a> để tạo khóa.`,
  address: 'Địa chỉ',
  header: 'Header xác thực',
  clients: 'Chương trình',
  shell: 'Dòng lệnh',
  titles: {
    env: 'Biến môi trường',
    'openai-node': 'SDK OpenAI cho Node.js',
    'openai-python': 'SDK OpenAI cho Python',
    'mcp-codex': 'Codex',
    'mcp-inspector': 'Trình kiểm tra',
  },
  summaries: {
    env: 'Lưu khóa trong biến môi trường, đừng để trong mã nguồn, trang web hay kho mã. Các chương trình dùng API của OpenAI đọc hai biến còn lại.',
    curl: 'Các mô hình có trong gói, câu trả lời đầu tiên, một ảnh bằng tác vụ, dữ liệu của một liên kết. Hai việc sau cần quyền `images` và `extract`.',
    'openai-node': 'SDK nguyên bản với địa chỉ khác. Dành cho máy chủ: khóa không bao giờ nằm trong trang web.',
    'openai-python': 'SDK nguyên bản với địa chỉ khác.',
    codex: 'Thêm dịch vụ này vào Codex; Codex lấy khóa từ biến môi trường.',
    'mcp-claude-code': 'Thêm công cụ vào Claude Code trong một dự án. Khóa được đọc từ biến môi trường.',
    'mcp-codex': 'Thêm công cụ vào Codex; Codex lấy khóa từ biến môi trường.',
    'mcp-vscode': 'Thêm công cụ cho tác nhân của VS Code trong một dự án. VS Code hỏi khóa một lần và giữ lại.',
    'mcp-inspector': 'Liệt kê công cụ bằng trình kiểm tra của giao thức, để xem khóa được dùng những gì.',
  },
};

export const setup = { en, vi };
