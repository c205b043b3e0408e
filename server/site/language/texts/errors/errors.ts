/*
 * What each error code means, as a sentence: English in the table of errors, Vietnamese here. Pages show it instead of
 * the message of an error, which is for programs and stays English. The type of the codes reports a code without a
 * sentence.
 */

import type { ErrorCode } from '../../../../../core/runtime/index.js';
import { actionOfCode, causeOfCode, wordsOfCode } from '../../../../usage/index.js';
import { VIETNAMESE_REMEDIES } from './error-remedies.js';

/** Codes of the usage log where no answer was sent. */
type LogCode = 'client_disconnected' | 'process_ended' | 'failed';

const VIETNAMESE: Readonly<Record<ErrorCode | LogCode, string>> = {
  removed: 'Nội dung đã bị gỡ hoặc chưa từng tồn tại.',
  private: 'Nội dung ở chế độ riêng tư.',
  login_required: 'Nền tảng chỉ hiển thị nội dung cho người đã đăng nhập.',
  password_protected: 'Nội dung được bảo vệ bằng mật khẩu.',
  age_restricted: 'Nội dung bị giới hạn độ tuổi.',
  geo_blocked: 'Nội dung không xem được ở khu vực của máy chủ.',
  members_only: 'Nội dung chỉ dành cho hội viên.',
  paid: 'Nội dung phải trả tiền.',
  under_review: 'Nền tảng còn đang duyệt nội dung.',
  unavailable: 'Nền tảng không hiển thị nội dung.',
  short_link_dead: 'Liên kết rút gọn không dẫn đến đâu.',
  redirected_to_unsupported: 'Liên kết rút gọn dẫn đến nội dung chưa được hỗ trợ.',
  bot_check: 'Nền tảng yêu cầu xác minh mà chỉ người dùng thật vượt qua được.',
  upstream_rate_limited: 'Nền tảng hoặc nhà cung cấp mô hình đang giới hạn yêu cầu của dịch vụ.',
  upstream_refused: 'Nền tảng hoặc nhà cung cấp mô hình từ chối mà không nêu lý do.',
  upstream_changed: 'Không đọc được câu trả lời của nền tảng.',
  upstream_error: 'Không kết nối được với nền tảng hoặc nhà cung cấp mô hình, hoặc bên đó gặp lỗi.',
  upstream_timeout: 'Nền tảng hoặc nhà cung cấp mô hình không trả lời kịp.',
  invalid_json: 'Nội dung gửi đi không phải JSON hợp lệ.',
  invalid_value: 'Một trường có giá trị không được chấp nhận.',
  missing_required_parameter: 'Thiếu một trường bắt buộc.',
  unsupported_parameter: 'Một trường không được hỗ trợ.',
  unsupported_value: 'Mô hình hoặc nội dung liên kết không hỗ trợ một giá trị.',
  too_many_images: 'Yêu cầu quá nhiều ảnh, hoặc có quá nhiều ảnh đầu vào.',
  invalid_image_url: 'Địa chỉ của một ảnh đầu vào không được chấp nhận.',
  invalid_base64_image: 'Một ảnh đầu vào không phải base64 hợp lệ.',
  invalid_image: 'Một ảnh đầu vào bị hỏng.',
  unsupported_image_media_type: 'Định dạng của một ảnh đầu vào không được chấp nhận.',
  image_file_too_large: 'Tệp của một ảnh đầu vào quá lớn.',
  image_too_large: 'Một ảnh đầu vào có quá nhiều điểm ảnh.',
  failed_to_download_image: 'Không tải được một ảnh đầu vào.',
  model_not_supported: 'Mô hình có tồn tại nhưng không dùng cho đường dẫn này.',
  moderation_blocked: 'Mô hình từ chối nội dung của yêu cầu.',
  invalid_prompt: 'Mô hình từ chối câu lệnh.',
  content_filter: 'Bộ lọc nội dung của nhà cung cấp mô hình đã chặn yêu cầu.',
  context_length_exceeded: 'Yêu cầu quá dài đối với mô hình.',
  previous_response_not_found: 'Không tìm thấy câu trả lời trước của cuộc trò chuyện.',
  bad_request: 'Yêu cầu sai định dạng hoặc kết thúc sớm.',
  model_not_found: 'Mô hình không tồn tại.',
  response_not_found: 'Tài khoản này không có câu trả lời đã lưu đó.',
  file_not_found: 'Tệp không tồn tại.',
  request_too_large: 'Nội dung gửi đi quá lớn.',
  queue_full: 'Hàng đợi của dịch vụ đã đầy.',
  shutting_down: 'Máy chủ đang dừng.',
  upstream_auth_error: 'Nhà cung cấp mô hình không chấp nhận thông tin truy cập của dịch vụ.',
  upstream_conflict: 'Nhà cung cấp mô hình từ chối vì yêu cầu xung đột với yêu cầu khác.',
  upstream_unavailable: 'Một phần mà dịch vụ cần đang không hoạt động.',
  audio_unavailable: 'Không tạo được tệp MP3.',
  plugin_unavailable: 'Phần mở rộng cần dùng chưa sẵn sàng.',
  storage_error: 'Không lưu hoặc đọc được tệp.',
  internal_error: 'Dịch vụ gặp lỗi ngoài dự kiến.',
  invalid_url: 'Liên kết không phải địa chỉ được chấp nhận.',
  unsupported_platform: 'Liên kết không thuộc nền tảng nào được hỗ trợ.',
  unsupported_link: 'Liên kết thuộc nền tảng được hỗ trợ nhưng không dẫn đến nội dung nào.',
  link_blocked: 'Người vận hành đã chặn nội dung này.',
  link_expired: 'Liên kết của tệp đã hết hạn.',
  media_unavailable: 'Không tải được tệp media.',
  audio_timeout: 'Không tạo kịp tệp MP3.',
  job_not_found: 'Tài khoản này không có tác vụ đó.',
  job_expired: 'Tác vụ đã bị xóa sau thời hạn lưu.',
  job_already_terminal: 'Tác vụ đã kết thúc.',
  job_not_retryable: 'Không thể chạy lại tác vụ này.',
  too_many_open_jobs: 'Tài khoản có quá nhiều tác vụ đang chờ hoặc đang chạy.',
  queue_expired: 'Tác vụ chờ trong hàng đợi quá lâu.',
  job_timeout: 'Tác vụ chạy quá lâu.',
  cancelled: 'Tác vụ đã bị hủy.',
  interrupted: 'Tác vụ bị gián đoạn quá nhiều lần khi chạy.',
  file_expired: 'Tệp đã bị xóa sau thời hạn lưu.',
  account_suspended: 'Tài khoản bị tạm khóa.',
  not_signed_in: 'Cần đăng nhập.',
  sign_in_failed: 'Đăng nhập không thành công.',
  answer_unusable: 'Mô hình không đưa ra câu trả lời dùng được.',
  origin_not_allowed: 'Trang web hoặc tên máy chủ này không được gọi địa chỉ dành cho tác nhân.',
  cross_site_request: 'Yêu cầu đến từ một trang khác.',
  account_not_found: 'Tài khoản không tồn tại.',
  user_not_found: 'Người dùng không tồn tại.',
  invitation_invalid: 'Lời mời đã dùng, đã hết hạn hoặc đã bị thu hồi.',
  passkey_refused: 'Không xác minh được khóa truy cập.',
  passkey_not_found: 'Tài khoản không có khóa truy cập này.',
  last_passkey: 'Đây là khóa truy cập cuối cùng của tài khoản.',
  last_operator: 'Dịch vụ sẽ không còn người vận hành nào.',
  sign_in_unavailable: 'Nhà cung cấp danh tính không hoạt động.',
  agent_connection_not_found: 'Tài khoản không có tác nhân đã kết nối với mã này.',
  agent_request_invalid:
    'Chương trình đã yêu cầu quyền truy cập theo cách không được chấp nhận, hoặc yêu cầu đã quá cũ.',
  agent_sign_in_unavailable: 'Tác nhân không thể đăng nhập tại dịch vụ này.',
  insufficient_quota: 'Đã dùng hết hạn mức của gói, khóa hoặc tài khoản, hoặc hạn mức đã kết thúc.',
  missing_api_key: 'Yêu cầu thiếu khóa API.',
  invalid_api_key: 'Khóa API không tồn tại.',
  expired_api_key: 'Khóa API đã hết hạn.',
  revoked_api_key: 'Khóa API đã bị thu hồi.',
  route_not_allowed: 'Khóa API không được dùng đường dẫn này.',
  model_not_allowed: 'Gói của khóa API không gồm mô hình này.',
  vendor_id_not_allowed: 'Yêu cầu trỏ đến dữ liệu lưu ở nhà cung cấp mô hình.',
  paid_tool_not_allowed: 'Yêu cầu dùng công cụ tính phí riêng của nhà cung cấp.',
  ip_not_allowed: 'Khóa API không được dùng từ địa chỉ này.',
  key_not_found: 'Tài khoản này không có khóa API đó.',
  key_exists: 'Tài khoản đã có khóa API dùng được.',
  too_many_keys: 'Tài khoản đã có số khóa API tối đa.',
  key_replaced: 'Khóa API đã được đổi.',
  rate_limit_exceeded: 'Đã vượt giới hạn số yêu cầu. Hãy chờ một phút rồi thử lại.',
  daily_image_limit_reached: 'Đã dùng hết số ảnh của hôm nay.',
  route_not_found: 'Địa chỉ không tồn tại.',
  method_not_allowed: 'Đường dẫn có tồn tại nhưng không nhận phương thức HTTP này.',
  upgrade_not_supported: 'Dịch vụ không hỗ trợ WebSocket.',
  format_not_supported: 'Dịch vụ không trả lời được ở định dạng này.',
  request_timeout: 'Yêu cầu không đến kịp.',
  unsupported_media_type: 'Đường dẫn không nhận loại nội dung này.',
  invalid_idempotency_key: 'Header `Idempotency-Key` không được chấp nhận.',
  idempotency_in_progress: 'Yêu cầu đầu tiên với `Idempotency-Key` này còn đang chạy.',
  idempotency_key_reused: '`Idempotency-Key` này đã dùng cho yêu cầu khác.',
  invalid_signature: 'Chữ ký của webhook chuyển khoản không đúng.',
  order_not_found: 'Đơn hàng không tồn tại.',
  price_not_configured: 'Gói chưa có giá.',
  top_up_not_allowed: 'Tài khoản không được nạp số dư trả trước.',
  too_many_open_orders: 'Tài khoản có quá nhiều đơn hàng chưa thanh toán.',
  order_state_conflict: 'Trạng thái đơn hàng không cho phép việc này.',
  client_disconnected: 'Chương trình đóng kết nối trước khi có câu trả lời.',
  process_ended: 'Máy chủ dừng trong khi xử lý yêu cầu.',
  failed: 'Tác vụ thất bại.',
};

const isKnown = (code: string): code is keyof typeof VIETNAMESE => Object.hasOwn(VIETNAMESE, code);

const hasRemedy = (code: string): code is ErrorCode => Object.hasOwn(VIETNAMESE_REMEDIES, code);

const en = { meaningOf: wordsOfCode, causeOf: causeOfCode, actionOf: actionOfCode };

const vi: typeof en = {
  meaningOf: (code) => (isKnown(code) ? VIETNAMESE[code] : 'Yêu cầu thất bại.'),
  causeOf: (code) => (hasRemedy(code) ? VIETNAMESE_REMEDIES[code].cause : undefined),
  actionOf: (code) => (hasRemedy(code) ? VIETNAMESE_REMEDIES[code].action : undefined),
};

export const errors = { en, vi };

/** For scripts of Vietnamese pages, which load it at the first error. */
export const VIETNAMESE_ERRORS: Readonly<Record<string, string>> = VIETNAMESE;
