/*
 * Texts of the page that connects agents.
 */

const en = {
  title: 'Connect an agent',
  description: 'Give Claude Code, Codex or VS Code tools for links, images and speech.',
  lead: 'Agents use this gateway by the Model Context Protocol: they read links, make images, transcribe and speak, within the limits of your account.',
  signIn: 'They need this address alone: the agent opens this site in your browser, and you allow it there.',
  link: 'Agents connect to tools',
  whatTools: 'Tools',
  grants:
    'An agent sees the tools that you allow it, or that the grants of its key allow. Each call counts like a request of its route.',
  tools: {
    get_link_data: 'Data of a public link: title, author, numbers, files, reviews, transcript.',
    get_link_data_batch: 'The same for up to 50 links.',
    ask_link: 'The answer to a question about a link, with the time or field of each statement.',
    generate_image: 'An image from a description.',
    edit_image: 'An image from other images and a description.',
    transcribe_audio: 'What is said in a recording.',
    translate_audio: 'What is said in a recording, in English.',
    speak: 'A text as speech.',
    list_models: 'The models that the key may use.',
    get_usage: 'What the key has used, and what is left.',
  },
};

const vi: typeof en = {
  title: 'Kết nối tác nhân',
  description: 'Thêm công cụ về liên kết, hình ảnh và giọng nói cho Claude Code, Codex hoặc VS Code.',
  lead: 'Tác nhân dùng dịch vụ này qua Model Context Protocol: đọc liên kết, tạo ảnh, chép lời và đọc văn bản, trong giới hạn của tài khoản bạn.',
  signIn: 'Chỉ cần địa chỉ này: tác nhân mở trang này trong trình duyệt và bạn cho phép ở đó.',
  link: 'Kết nối tác nhân với công cụ',
  whatTools: 'Công cụ',
  grants:
    'Tác nhân thấy những công cụ mà bạn hoặc quyền của khóa cho phép. Mỗi lần gọi được tính như một yêu cầu của API tương ứng.',
  tools: {
    get_link_data: 'Dữ liệu của một liên kết công khai: tiêu đề, tác giả, số liệu, tệp, đánh giá, bản chép lời.',
    get_link_data_batch: 'Tương tự, cho tối đa 50 liên kết.',
    ask_link: 'Câu trả lời cho câu hỏi về một liên kết, kèm thời điểm hoặc trường của từng ý.',
    generate_image: 'Ảnh từ một mô tả.',
    edit_image: 'Ảnh từ các ảnh khác và một mô tả.',
    transcribe_audio: 'Lời nói trong một bản ghi âm.',
    translate_audio: 'Lời nói trong một bản ghi âm, bằng tiếng Anh.',
    speak: 'Đọc một văn bản thành tiếng.',
    list_models: 'Các mô hình mà khóa được dùng.',
    get_usage: 'Khóa đã dùng bao nhiêu và còn lại bao nhiêu.',
  },
};

export const connect = { en, vi };
