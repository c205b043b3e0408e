/*
 * Why an error happened and what can be done about it, in Vietnamese, by its code: for the page of the error codes and
 * for pages that show one failed request. English has both in the declarations of the errors. The type of the codes
 * reports a code without them.
 */

import type { ErrorCode } from '../../../../../core/runtime/index.js';

export interface Remedy {
  cause: string;
  action: string;
}

const ASK_AGAIN = 'Hãy gửi lại yêu cầu sau. Nếu vẫn lỗi, hãy báo mã yêu cầu cho người vận hành.';
const WAIT = 'Hãy chờ số giây trong `Retry-After` rồi gửi lại.';
const NOT_READABLE = 'Cổng API không đọc được nội dung này.';
const NEW_KEY = 'Hãy tạo khóa khác ở trang tài khoản hoặc hỏi người vận hành.';
const NEW_JOB = 'Hãy gửi tác vụ mới với `Idempotency-Key` mới.';
const CHECK_ID = 'Hãy kiểm tra mã.';
const READ_AGAIN = 'Hãy đọc lại liên kết.';

export const VIETNAMESE_REMEDIES: Readonly<Record<ErrorCode, Remedy>> = {
  removed: {
    cause: 'Tác giả hoặc nền tảng đã xóa, hoặc mã trong liên kết bị sai.',
    action: 'Hãy mở liên kết trong trình duyệt để kiểm tra.',
  },
  private: {
    cause: 'Tác giả chỉ cho một số người xem. Đăng nhập ở cổng API không giúp được.',
    action: 'Hãy đề nghị tác giả chuyển sang công khai.',
  },
  login_required: {
    cause: 'Nội dung có thể công khai, nhưng nền tảng yêu cầu đăng nhập, nhất là với địa chỉ mà họ không tin.',
    action:
      'Cổng API không bao giờ đăng nhập. Hãy thử lại sau hoặc nhờ người vận hành đổi lối ra mạng (`EGRESS_PROXY_URL`).',
  },
  password_protected: { cause: 'Tác giả đã đặt mật khẩu.', action: NOT_READABLE },
  age_restricted: {
    cause: 'Nền tảng chỉ hiển thị cho người lớn đã đăng nhập.',
    action: 'Cổng API không bao giờ đăng nhập nên không đọc được nội dung này.',
  },
  geo_blocked: {
    cause: 'Nền tảng hoặc tác giả chỉ cho xem ở một số nước.',
    action: 'Hãy nhờ người vận hành dùng lối ra mạng ở nước khác (`EGRESS_PROXY_URL`).',
  },
  members_only: { cause: 'Tác giả chỉ cho hội viên xem.', action: NOT_READABLE },
  paid: { cause: 'Nền tảng bán hoặc cho thuê nội dung này.', action: NOT_READABLE },
  under_review: { cause: 'Nội dung vừa được đăng hoặc bị báo cáo.', action: 'Hãy thử lại sau vài giờ.' },
  unavailable: {
    cause: 'Nội dung đã bị xóa, riêng tư hoặc bị chặn; nền tảng không nói rõ.',
    action: 'Hãy mở liên kết trong trình duyệt. `reason` có thể có lời của nền tảng.',
  },
  short_link_dead: {
    cause: 'Liên kết rút gọn đã hết hạn hoặc nội dung đã bị xóa.',
    action: 'Hãy gửi liên kết đầy đủ.',
  },
  redirected_to_unsupported: {
    cause: 'Liên kết dẫn đến trang cá nhân, cửa hàng hoặc trang khác.',
    action: 'Hãy gửi liên kết của một bài, video hoặc sản phẩm.',
  },
  bot_check: {
    cause: 'Nền tảng không tin địa chỉ IP hoặc số yêu cầu của cổng API.',
    action: 'Hãy thử lại sau. Người vận hành có thể đặt lối ra mạng khác (`EGRESS_PROXY_URL`).',
  },
  upstream_rate_limited: { cause: 'Mọi khách của cổng API cộng lại đã gửi quá nhiều yêu cầu.', action: WAIT },
  upstream_refused: {
    cause: 'Bên đó trả về trang trống hoặc từ chối, thường vì địa chỉ IP.',
    action: ASK_AGAIN,
  },
  upstream_changed: {
    cause: 'Nền tảng đã đổi trang của họ.',
    action: 'Hãy báo người vận hành: bản mới hơn có thể đọc được.',
  },
  upstream_error: { cause: 'Lỗi mạng hoặc lỗi máy chủ của bên đó.', action: ASK_AGAIN },
  upstream_timeout: { cause: 'Bên đó chậm hoặc quá tải.', action: ASK_AGAIN },
  invalid_json: {
    cause: 'Thiếu dấu phẩy, dấu nháy hoặc dấu ngoặc, hoặc nội dung không phải UTF-8.',
    action: 'Hãy tạo nội dung bằng thư viện JSON.',
  },
  invalid_value: {
    cause: 'Giá trị sai kiểu hoặc ngoài phạm vi. `param` nêu tên trường.',
    action: 'Hãy gửi giá trị mà thông báo nói là được chấp nhận.',
  },
  missing_required_parameter: {
    cause: 'Trường không được gửi hoặc bằng null. `param` nêu tên trường.',
    action: 'Hãy thêm trường đó.',
  },
  unsupported_parameter: {
    cause: 'Đường dẫn hoặc mô hình không biết trường này. `param` nêu tên trường.',
    action: 'Hãy bỏ trường đó.',
  },
  unsupported_value: {
    cause:
      'Mô hình không đủ khả năng, chẳng hạn ảnh đầu vào hoặc mức suy luận; hoặc nội dung không có tệp cho `format`; hoặc khóa có ngân sách mà không đọc được một tệp để ước lượng token. `param` nêu tên trường.',
    action: 'Hãy gửi giá trị khác hoặc chọn mô hình khác.',
  },
  too_many_images: {
    cause: '`n` hoặc `items` lớn hơn 1, hoặc có hơn 4 ảnh đầu vào.',
    action: 'Hãy gửi một yêu cầu cho mỗi ảnh, với nhiều nhất 4 ảnh đầu vào.',
  },
  invalid_image_url: {
    cause: 'Địa chỉ không phải https hoặc dẫn vào mạng riêng.',
    action: 'Hãy gửi liên kết https công khai hoặc data URI.',
  },
  invalid_base64_image: {
    cause: 'Data URI bị hỏng hoặc thiếu `;base64,`.',
    action: 'Hãy gửi `data:image/png;base64,` rồi đến base64 chuẩn.',
  },
  invalid_image: {
    cause: 'Tệp bị cắt hoặc không đúng kiểu đã khai.',
    action: 'Hãy gửi ảnh khác: PNG, JPEG, WebP hoặc GIF, tối đa 10 MB.',
  },
  unsupported_image_media_type: {
    cause: 'Tệp không phải ảnh PNG, JPEG, WebP hoặc GIF.',
    action: 'Hãy chuyển định dạng ảnh trước.',
  },
  image_file_too_large: { cause: 'Tệp lớn hơn 10 MB.', action: 'Hãy gửi tệp nhỏ hơn.' },
  image_too_large: {
    cause: 'Ảnh có nhiều điểm ảnh hơn mức cổng API giải mã: 100 triệu, hoặc ít hơn với vài định dạng.',
    action: 'Hãy gửi ảnh nhỏ hơn.',
  },
  failed_to_download_image: {
    cause: 'Máy chủ của ảnh từ chối hoặc không trả lời.',
    action: 'Hãy kiểm tra liên kết mở được khi chưa đăng nhập, hoặc gửi ảnh dạng data URI.',
  },
  model_not_supported: {
    cause: 'Chẳng hạn một mô hình văn bản được gửi đến đường dẫn tạo ảnh.',
    action: 'Hãy chọn mô hình đúng loại: `GET /v1/models` liệt kê tất cả.',
  },
  moderation_blocked: {
    cause: 'Câu lệnh hoặc ảnh đầu vào trái quy định của nhà cung cấp mô hình. `reason` có lời của họ.',
    action: 'Hãy đổi câu lệnh hoặc ảnh.',
  },
  invalid_prompt: {
    cause: 'Câu lệnh trái quy định của nhà cung cấp mô hình.',
    action: 'Hãy đổi câu lệnh.',
  },
  content_filter: {
    cause: 'Câu lệnh hoặc câu trả lời khớp bộ lọc của nhà cung cấp.',
    action: 'Hãy đổi câu lệnh.',
  },
  context_length_exceeded: {
    cause: 'Cuộc trò chuyện và phần trả lời cần nhiều token hơn mức mô hình nhận.',
    action: 'Hãy rút ngắn cuộc trò chuyện hoặc chọn mô hình có ngữ cảnh dài hơn.',
  },
  previous_response_not_found: {
    cause: '`previous_response_id` không được lưu, đã hết hạn hoặc thuộc tài khoản khác.',
    action: 'Hãy gửi cả cuộc trò chuyện.',
  },
  bad_request: {
    cause: 'Kết nối đóng trước khi gửi xong, hoặc khung HTTP sai.',
    action: 'Hãy gửi lại bằng chương trình HTTP thông dụng.',
  },
  model_not_found: {
    cause: 'Tên bị gõ sai, hoặc người vận hành chưa kết nối mô hình.',
    action: 'Hãy chọn mô hình mà `GET /v1/models` liệt kê.',
  },
  response_not_found: {
    cause: 'Câu trả lời được tạo với `store: false`, đã bị xóa hoặc thuộc tài khoản khác.',
    action: CHECK_ID,
  },
  file_not_found: {
    cause: 'Tên tệp trong liên kết đã bị sửa.',
    action: 'Hãy dùng đúng liên kết đã nhận được.',
  },
  request_too_large: {
    cause: 'Nội dung vượt giới hạn của đường dẫn, hoặc có quá nhiều giá trị hay header.',
    action: 'Hãy gửi ít hơn.',
  },
  queue_full: { cause: 'Nhiều khách gửi cùng lúc.', action: WAIT },
  shutting_down: { cause: 'Người vận hành đang khởi động lại hoặc nâng cấp.', action: WAIT },
  upstream_auth_error: {
    cause: 'Khóa của người vận hành ở nhà cung cấp bị sai, hết hạn hoặc hết tiền.',
    action: 'Hãy báo người vận hành kiểm tra khóa của nhà cung cấp.',
  },
  upstream_conflict: {
    cause:
      'Yêu cầu khác đang dùng cùng cuộc trò chuyện, hoặc trạng thái của nó đã đổi. `error.code` và thông báo là của nhà cung cấp.',
    action: 'Hãy chờ yêu cầu kia kết thúc hoặc sửa yêu cầu này.',
  },
  upstream_unavailable: {
    cause: 'Cơ sở dữ liệu, nơi lưu tệp hoặc mọi máy chủ của mô hình không trả lời.',
    action: ASK_AGAIN,
  },
  audio_unavailable: {
    cause: 'Nội dung không có âm thanh, hoặc nền tảng chặn tệp media.',
    action: 'Hãy đọc lại liên kết và dùng địa chỉ media khác trong dữ liệu.',
  },
  plugin_unavailable: {
    cause: 'Phần mở rộng không tải được, hoặc thiếu phần mềm như ffmpeg hay trình duyệt.',
    action: 'Hãy báo người vận hành chạy `mediagate doctor` và `mediagate plugins`.',
  },
  storage_error: { cause: 'Ổ đĩa hoặc kho đối tượng bị lỗi, hoặc tệp bị hỏng.', action: ASK_AGAIN },
  internal_error: {
    cause: 'Lỗi của cổng API hoặc phần mở rộng. Nhật ký có chi tiết theo mã yêu cầu.',
    action: 'Hãy báo mã yêu cầu cho người vận hành.',
  },
  job_not_found: {
    cause: 'Mã bị gõ sai, thuộc tài khoản khác hoặc đã hết thời hạn lưu.',
    action: 'Hãy kiểm tra mã hoặc gửi tác vụ mới.',
  },
  job_expired: {
    cause: 'Dành sẵn: tác vụ như vậy được báo là `job_not_found`.',
    action: 'Hãy gửi tác vụ mới.',
  },
  job_already_terminal: {
    cause: 'Không hủy được tác vụ đã xong, đã lỗi hoặc đã hủy.',
    action: 'Hãy đọc kết quả của tác vụ.',
  },
  job_not_retryable: {
    cause: 'Tác vụ không bị lỗi, đã được chạy lại, hoặc nội dung yêu cầu không còn được lưu.',
    action: 'Hãy đọc thông báo. Nếu không, chủ tác vụ gửi tác vụ mới.',
  },
  too_many_open_jobs: {
    cause: 'Mỗi tài khoản chỉ được dùng một phần hàng đợi.',
    action: 'Hãy chờ vài tác vụ kết thúc.',
  },
  queue_expired: { cause: 'Cổng API quá tải hoặc không có tiến trình nào chạy tác vụ.', action: NEW_JOB },
  job_timeout: { cause: 'Nền tảng hoặc nhà cung cấp mô hình chậm.', action: NEW_JOB },
  cancelled: {
    cause: 'Chương trình, việc thu hồi khóa hoặc người vận hành đã hủy.',
    action: 'Hãy gửi tác vụ mới nếu vẫn cần kết quả.',
  },
  interrupted: {
    cause: 'Tiến trình chạy tác vụ đã dừng nhiều lần.',
    action: 'Hãy gửi tác vụ mới. Nếu vẫn lỗi, hãy báo người vận hành.',
  },
  invalid_url: {
    cause:
      'Liên kết không phải http hay https, dài hơn 2.048 ký tự, hoặc có tên người dùng, cổng, dấu gạch chéo ngược hay chữ cái giả dạng.',
    action: 'Hãy gửi đúng liên kết mà nền tảng chia sẻ.',
  },
  unsupported_platform: {
    cause: 'Tên miền không nằm trong danh sách của `GET /v1/capabilities`.',
    action: 'Hãy gửi liên kết của nền tảng được hỗ trợ.',
  },
  unsupported_link: {
    cause: 'Liên kết dẫn đến trang cá nhân, tìm kiếm, danh sách phát hoặc cửa hàng. Thông báo nêu rõ.',
    action: 'Hãy gửi liên kết của một bài, video hoặc sản phẩm.',
  },
  link_blocked: {
    cause: 'Nội dung bị chặn bằng `mediagate links block`.',
    action: 'Hãy hỏi người vận hành.',
  },
  link_expired: {
    cause: 'Liên kết của tệp media và MP3 chỉ dùng được một thời gian: xem `expires_at`.',
    action: READ_AGAIN,
  },
  media_unavailable: {
    cause: 'Nền tảng từ chối tệp, gửi thứ khác hoặc ngắt giữa chừng.',
    action: 'Hãy đọc lại liên kết và dùng tệp khác trong dữ liệu.',
  },
  audio_timeout: {
    cause: 'Nền tảng gửi media chậm, hoặc nội dung rất dài.',
    action: 'Hãy yêu cầu tệp lại lần nữa.',
  },
  file_expired: {
    cause: 'Ảnh chỉ được lưu một thời gian: xem `expires_at` của tác vụ.',
    action: 'Hãy tạo lại ảnh, và tải ảnh về sớm sau khi tạo.',
  },
  rate_limit_exceeded: {
    cause: 'Khóa gửi nhiều hơn mức cho phép trong 60 giây, hoặc một địa chỉ gửi quá nhiều.',
    action: WAIT,
  },
  daily_image_limit_reached: {
    cause: 'Gói hoặc người vận hành giới hạn số ảnh mỗi ngày (UTC).',
    action: 'Hãy chờ đến nửa đêm UTC hoặc đổi gói.',
  },
  agent_request_invalid: {
    cause:
      'Chương trình không được biết đến, địa chỉ quay về không phải địa chỉ đã đăng ký, không đọc được tài liệu của chương trình, hoặc yêu cầu đã hết hạn hay bắt đầu ở trình duyệt khác.',
    action: 'Hãy kết nối lại chương trình. Nếu vẫn lỗi, thông báo nêu điều mà nhà phát triển phải sửa.',
  },
  agent_connection_not_found: {
    cause: 'Kết nối đã kết thúc, hết hạn hoặc thuộc tài khoản khác.',
    action: 'Hãy xem các tác nhân đã kết nối bằng `GET /api/user/agents`.',
  },
  agent_sign_in_unavailable: {
    cause: '`MCP_SIGN_IN` hoặc `MCP_ENABLED` đang tắt, trang web không có đăng nhập, hoặc địa chỉ không có https.',
    action: 'Hãy dùng khóa API, hoặc đặt `BASE_URL` là địa chỉ https và cấu hình đăng nhập.',
  },
  route_not_found: {
    cause: 'Đường dẫn bị gõ sai, hoặc người vận hành đã tắt phần đó.',
    action: 'Hãy so đường dẫn với danh sách đường dẫn.',
  },
  method_not_allowed: {
    cause: 'Chẳng hạn GET được gửi thay cho POST.',
    action: 'Hãy dùng phương thức mà thông báo nêu.',
  },
  upgrade_not_supported: {
    cause:
      'WebSocket được yêu cầu ở đường dẫn khác `/v1/responses`, không có header của RFC 6455, hoặc cổng API chạy Node cũ hơn 24.9; hoặc `GET /v1/responses` không yêu cầu WebSocket.',
    action: 'Hãy gửi qua HTTP, với `"stream": true` nếu cần luồng. Trợ lý lập trình tự làm việc này.',
  },
  format_not_supported: {
    cause: '`GET /v1/oembed` được yêu cầu trả về XML.',
    action: 'Hãy yêu cầu JSON: `format=json`, hoặc bỏ `format`.',
  },
  request_timeout: {
    cause: 'Kết nối chậm, hoặc chương trình ngừng gửi.',
    action: 'Hãy gửi lại yêu cầu.',
  },
  unsupported_media_type: {
    cause: 'Header `Content-Type` thiếu hoặc sai, hoặc cách nén không được chấp nhận.',
    action: 'Hãy gửi kiểu nội dung mà thông báo nêu; nội dung nén dùng gzip, deflate, br hoặc zstd.',
  },
  invitation_invalid: {
    cause: 'Lời mời đã dùng, đã hết hạn hoặc bị thu hồi, hoặc liên kết không đầy đủ.',
    action: 'Nếu đã dùng lời mời, hãy đăng nhập. Nếu chưa, hãy xin người vận hành lời mời mới.',
  },
  passkey_refused: {
    cause: 'Khóa truy cập dành cho trang khác, quá lâu hoặc đã được đăng ký.',
    action: 'Hãy thử lại từ cùng trang.',
  },
  passkey_not_found: { cause: 'Khóa truy cập đã bị xóa hoặc mã bị gõ sai.', action: 'Hãy tải lại trang.' },
  last_passkey: {
    cause: 'Đây là khóa truy cập cuối cùng.',
    action: 'Hãy thêm khóa truy cập khác trước.',
  },
  insufficient_quota: {
    cause: '`GET /v1/usage` cho biết còn lại bao nhiêu.',
    action: 'Hãy chờ kỳ sau, mua gói hoặc xin người vận hành ngân sách lớn hơn.',
  },
  answer_unusable: {
    cause: 'Câu trả lời không phải JSON hoặc không khớp lược đồ, hai lần liền.',
    action: 'Hãy hỏi lại, chọn mô hình lớn hơn hoặc gửi lược đồ đơn giản hơn.',
  },
  invalid_signature: {
    cause: 'Dùng khóa bí mật khác, hoặc đồng hồ lệch hơn 5 phút.',
    action: 'Hãy so khóa bí mật ở dịch vụ thanh toán với thiết lập và chỉnh đồng hồ.',
  },
  order_not_found: { cause: 'Mã bị gõ sai hoặc thuộc tài khoản khác.', action: CHECK_ID },
  price_not_configured: {
    cause: 'Người vận hành chỉ bán gói này qua bộ phận hỗ trợ.',
    action: 'Hãy hỏi bộ phận hỗ trợ mà thông báo nêu.',
  },
  top_up_not_allowed: {
    cause: 'Người vận hành chỉ cho một số tài khoản nạp số dư.',
    action: 'Hãy hỏi bộ phận hỗ trợ mà thông báo nêu, hoặc đặt một gói.',
  },
  too_many_open_orders: {
    cause: 'Các đơn trước chưa thanh toán cũng chưa hủy.',
    action: 'Hãy thanh toán hoặc hủy một đơn.',
  },
  order_state_conflict: {
    cause: 'Đơn hàng đã thanh toán, đã hủy, hết hạn hoặc đã hoàn tiền.',
    action: 'Hãy xem lại đơn hàng hoặc tạo đơn mới.',
  },
  invalid_idempotency_key: {
    cause: 'Giá trị trống, quá dài hoặc có ký tự ngoài ASCII hiển thị được.',
    action: 'Hãy gửi giá trị như một UUID.',
  },
  idempotency_in_progress: {
    cause: 'Chương trình gửi yêu cầu lần hai trước khi có câu trả lời đầu tiên.',
    action: WAIT,
  },
  idempotency_key_reused: {
    cause: 'Nội dung khác với yêu cầu đầu tiên.',
    action: 'Hãy dùng giá trị mới cho mỗi yêu cầu mới.',
  },
  missing_api_key: { cause: 'Thiếu header `Authorization: Bearer …`.', action: 'Hãy gửi khóa API.' },
  invalid_api_key: {
    cause: 'Khóa bị gõ sai hoặc thuộc cổng API khác.',
    action: 'Hãy kiểm tra khóa. Khóa chỉ hiện một lần nên khóa đã mất không xem lại được.',
  },
  expired_api_key: { cause: 'Khóa có ngày hết hạn.', action: NEW_KEY },
  revoked_api_key: {
    cause: 'Chủ khóa hoặc người vận hành đã thu hồi, hoặc đã hết thời gian đổi khóa.',
    action: NEW_KEY,
  },
  route_not_allowed: {
    cause: 'Khóa thiếu quyền của đường dẫn, hoặc người vận hành đã tắt đường dẫn.',
    action: 'Hãy dùng khóa có quyền. Người vận hành thêm quyền theo gói hoặc theo khóa.',
  },
  model_not_allowed: {
    cause: 'Gói miễn phí và một số gói chỉ có vài mô hình.',
    action: 'Hãy chọn mô hình mà `GET /v1/models` liệt kê cho khóa, hoặc đổi gói.',
  },
  vendor_id_not_allowed: {
    cause: 'Yêu cầu có mã của tệp, câu lệnh hoặc cuộc trò chuyện, mà khóa thiếu quyền `vendor_ids`.',
    action: 'Hãy gửi chính nội dung đó.',
  },
  paid_tool_not_allowed: {
    cause:
      'Yêu cầu chọn công cụ có sẵn như tìm kiếm web hoặc một bậc dịch vụ, mà khóa có gói hoặc ngân sách thiếu quyền `paid_tools`.',
    action: 'Hãy bỏ công cụ đó hoặc dùng hàm của riêng bạn.',
  },
  ip_not_allowed: { cause: 'Dành sẵn: chưa có thiết lập nào dẫn đến lỗi này.', action: 'Hãy hỏi người vận hành.' },
  key_not_found: {
    cause: 'Mã của khóa bị gõ sai hoặc thuộc tài khoản khác.',
    action: 'Hãy xem danh sách khóa của tài khoản.',
  },
  key_exists: {
    cause: '`POST /api/user` chỉ tạo khóa đầu tiên.',
    action: 'Hãy tạo thêm khóa bằng `POST /api/user/keys`, hoặc đổi khóa.',
  },
  too_many_keys: {
    cause: 'Mỗi tài khoản có nhiều nhất mười khóa còn hiệu lực.',
    action: 'Hãy thu hồi một khóa trước.',
  },
  key_replaced: {
    cause: 'Khóa đã được đổi lại bị đổi hoặc sửa lần nữa.',
    action: 'Hãy dùng khóa đã thay nó.',
  },
  account_suspended: { cause: 'Người vận hành đã tạm khóa tài khoản.', action: 'Hãy hỏi người vận hành.' },
  not_signed_in: {
    cause: 'Không có phiên đăng nhập, hoặc phiên đã kết thúc.',
    action: 'Hãy mở `loginUrl` trong trình duyệt hoặc bắt đầu luồng thiết bị.',
  },
  sign_in_failed: {
    cause: 'Lần đăng nhập đã bị hủy, quá lâu hoặc kết thúc ở trình duyệt khác.',
    action: 'Hãy bắt đầu lại từ trang đăng nhập.',
  },
  cross_site_request: {
    cause: 'Header `Origin` hoặc `Sec-Fetch-Site` thiếu hoặc nêu trang khác.',
    action: 'Hãy gửi yêu cầu từ một trang của trang web này. Chương trình dùng luồng thiết bị.',
  },
  account_not_found: { cause: 'Mã bị gõ sai hoặc tài khoản đã bị xóa.', action: CHECK_ID },
  user_not_found: { cause: 'Mã bị gõ sai hoặc người dùng đã bị xóa.', action: CHECK_ID },
  last_operator: {
    cause: 'Đây là người vận hành cuối cùng còn hoạt động.',
    action: 'Hãy cho người khác làm người vận hành trước.',
  },
  sign_in_unavailable: {
    cause: 'Bên đó không trả lời, hoặc đăng nhập chưa được cấu hình đúng.',
    action: 'Hãy thử lại sau một phút. Người vận hành chạy `mediagate doctor`.',
  },
  origin_not_allowed: {
    cause: 'Header `Origin` nêu trang khác, hoặc trên máy này header `Host` không phải địa chỉ của cổng API.',
    action: 'Hãy gọi địa chỉ trong `BASE_URL`; với trang web, hãy thêm nguồn của nó vào `CORS_ORIGINS`.',
  },
};
