/*
 * Vietnamese summaries of the guides that are read most, and titles of their parts by the English ones. The guides
 * themselves are in English: with these a reader finds the part to read, or to have translated.
 */

export interface GuideWords {
  summary: string;
  /** By the English title. A part that is missing keeps that. */
  parts: Readonly<Record<string, string>>;
}

/** By the file of the guide. */
export const VIETNAMESE_GUIDES: Readonly<Record<string, GuideWords>> = {
  'quickstart.md': {
    summary: 'Khởi động cổng trên máy của bạn và gửi những yêu cầu đầu tiên: mô hình, ảnh và liên kết.',
    parts: {
      'Start the gateway': 'Khởi động cổng',
      'The first requests': 'Những yêu cầu đầu tiên',
      'What answers: mocks and real models': 'Ai trả lời: mô phỏng và mô hình thật',
      'Where the data is': 'Dữ liệu nằm ở đâu',
      Keys: 'Khóa',
      'If something goes wrong': 'Khi có sự cố',
      'Next steps': 'Bước tiếp theo',
    },
  },
  'guides/images.md': {
    summary: 'Tạo ảnh bằng tác vụ nền hoặc trong một yêu cầu, sửa ảnh, và xử lý lỗi. Mỗi yêu cầu tạo đúng một ảnh.',
    parts: {
      'Make an image with a job': 'Tạo ảnh bằng tác vụ',
      'Wait for the end': 'Chờ kết quả',
      'List your jobs': 'Liệt kê các tác vụ',
      'Make an image in one call': 'Tạo ảnh trong một yêu cầu',
      'Use an SDK or the command line': 'Dùng SDK hoặc dòng lệnh',
      'Make several images': 'Tạo nhiều ảnh',
      'Send input images': 'Gửi ảnh đầu vào',
      'Edit an image': 'Sửa ảnh',
      'Stream an image': 'Nhận ảnh từng phần',
      'All fields of the request': 'Mọi trường của yêu cầu',
      'Repeat a request safely': 'Gửi lại an toàn',
      'Cancel a job': 'Hủy tác vụ',
      'What can go wrong?': 'Những lỗi có thể gặp',
      'How long are files available?': 'Tệp được giữ bao lâu',
      'For operators: queue and crashes': 'Cho người vận hành: hàng đợi và sự cố',
    },
  },
  'guides/link-data.md': {
    summary:
      'Gửi liên kết công khai và nhận văn bản, số liệu, địa chỉ media dưới dạng JSON, hoặc lý do không đọc được.',
    parts: {
      'Read a link': 'Đọc một liên kết',
      'Which links are accepted?': 'Những liên kết được nhận',
      'Get all pictures of a carousel': 'Lấy mọi hình của bài nhiều hình',
      'Get subtitles': 'Lấy phụ đề',
      'Get a transcript': 'Lấy bản chép lời',
      'Ask a question': 'Đặt câu hỏi',
      'Get the reviews of a product': 'Lấy đánh giá sản phẩm',
      'Why does a link fail? Private, login, password': 'Vì sao không đọc được: riêng tư, đăng nhập, mật khẩu',
      'What does limitations say?': 'Ý nghĩa của limitations',
      'Partial and cached answers': 'Câu trả lời một phần và từ bộ nhớ đệm',
      'Read a link in a background job': 'Đọc liên kết bằng tác vụ nền',
      'Read several links at once': 'Đọc nhiều liên kết một lần',
      'How many requests may I send?': 'Được gửi bao nhiêu yêu cầu',
      'For operators: browser and ffmpeg': 'Cho người vận hành: trình duyệt và ffmpeg',
    },
  },
  'guides/models.md': {
    summary:
      'Trò chuyện với mô hình văn bản theo định dạng của OpenAI: luồng, tệp, lỗi, câu trả lời được lưu và vectơ.',
    parts: {
      'List models, chat, and use the responses format': 'Liệt kê mô hình, trò chuyện, dùng định dạng responses',
      'Set the reasoning effort': 'Đặt mức suy luận',
      'Read a stream': 'Đọc luồng',
      'What happens when a model fails?': 'Khi mô hình gặp lỗi',
      'Files in requests': 'Tệp trong yêu cầu',
      'Continue, read and delete stored responses': 'Tiếp tục, đọc và xóa câu trả lời đã lưu',
      'Shorten a long conversation, count tokens': 'Rút gọn cuộc trò chuyện dài, đếm token',
      'Embeddings and moderations': 'Vectơ và kiểm duyệt',
    },
  },
  'guides/audio.md': {
    summary: 'Đọc văn bản thành tiếng, chép lời và dịch bản ghi âm, đổi giọng, tạo hiệu ứng âm thanh.',
    parts: {
      'Speak a text': 'Đọc văn bản',
      'Transcribe or translate a recording': 'Chép lời hoặc dịch bản ghi âm',
      'Change a voice, make a sound effect': 'Đổi giọng, tạo hiệu ứng âm thanh',
      'What if a model cannot use a parameter?': 'Khi mô hình không dùng được một tham số',
      'Repeat a request safely': 'Gửi lại an toàn',
    },
  },
  'guides/clients.md': {
    summary: 'Dùng cổng với SDK của OpenAI và Anthropic, AI SDK, Codex, Claude Code và các chương trình khác.',
    parts: {
      'OpenAI for Node and Python': 'OpenAI cho Node và Python',
      'opencode and other agents': 'opencode và tác nhân khác',
      "Anthropic's format": 'Định dạng của Anthropic',
      'What was tried': 'Những gì đã thử',
      'Generated clients': 'Thư viện tạo tự động',
      'Repeating a request': 'Gửi lại yêu cầu',
      'Request bodies': 'Nội dung yêu cầu',
      'Pages in a browser': 'Trang trong trình duyệt',
    },
  },
  'guides/webhooks.md': {
    summary: 'Nhận thông báo có chữ ký khi tác vụ kết thúc, thay vì hỏi lại nhiều lần.',
    parts: {
      'Ask for a webhook': 'Yêu cầu gọi lại',
      'Verify the signature': 'Kiểm tra chữ ký',
      'Replace the secret': 'Đổi khóa bí mật',
      'Answer a webhook, and expect repetitions': 'Trả lời, và chờ gửi lặp',
      'For operators': 'Cho người vận hành',
    },
  },
  'guides/agents.md': {
    summary: 'Kết nối tác nhân với các công cụ của cổng qua Model Context Protocol.',
    parts: {
      'Try it': 'Dùng thử',
      'Connect an agent': 'Kết nối tác nhân',
      'With an API key': 'Dùng khóa API',
      'From a program': 'Từ chương trình',
      Tools: 'Công cụ',
      'Long calls': 'Yêu cầu kéo dài',
      'For operators': 'Cho người vận hành',
    },
  },
  'operate/deploy.md': {
    summary: 'Cài cổng trên máy chủ: yêu cầu, thiết lập, dịch vụ, proxy phía trước, và việc vận hành hằng ngày.',
    parts: {
      'Check the requirements': 'Kiểm tra yêu cầu',
      'Write the settings': 'Ghi thiết lập',
      'Install the service': 'Cài dịch vụ',
      'Put a proxy in front': 'Đặt proxy phía trước',
      'Operate the node': 'Vận hành máy',
      'Inspect, cancel and retry jobs': 'Xem, hủy và chạy lại tác vụ',
      'Deploy files': 'Các tệp triển khai',
      'Files in an object store': 'Tệp trong kho đối tượng',
    },
  },
  'operate/troubleshooting.md': {
    summary: 'Tìm nguyên nhân theo triệu chứng, và cách xử lý.',
    parts: {
      'The start fails': 'Không khởi động được',
      'Mocks still answer': 'Mô phỏng vẫn trả lời',
      'A model answers 502 or 503': 'Mô hình trả lời 502 hoặc 503',
      'The address guard refuses an upstream': 'Bộ lọc địa chỉ từ chối một máy chủ',
      'Media of a link are blank or expired': 'Media của liên kết trống hoặc hết hạn',
      'There is no ffmpeg': 'Không có ffmpeg',
      'Requests get 429': 'Yêu cầu nhận 429',
      'A job stays queued': 'Tác vụ chờ mãi',
      'Sign-in is not possible': 'Không đăng nhập được',
      'The database is locked or unreachable': 'Cơ sở dữ liệu bị khóa hoặc không truy cập được',
      'The disk is full': 'Đĩa đầy',
      'Keys are refused after a restore': 'Khóa bị từ chối sau khi khôi phục',
      'Other messages': 'Thông báo khác',
    },
  },
};
