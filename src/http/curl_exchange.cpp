#include "http/curl_exchange.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <new>

#include "base/names.hpp"
#include "http/curl_answer.hpp"
#include "http/curl_failure.hpp"

namespace fastgpu::http {
namespace {

/// The longest time for which a connection is kept idle. Servers close connections that were idle
/// for about a minute; no request should be sent at that moment.
constexpr long kLongestIdleSeconds = 30;

/// Blocks SIGPIPE in its scope: OpenSSL writes without MSG_NOSIGNAL, so that a write to a lost
/// connection would end the process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

/// Adds a transfer to its connections while the object lives.
class Attached {
 public:
  Attached(CURLM* connections, CURL* transfer) : connections_(connections), transfer_(transfer) {
    if (curl_multi_add_handle(connections_, transfer_) != CURLM_OK) throw std::bad_alloc();
  }
  ~Attached() { curl_multi_remove_handle(connections_, transfer_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  CURLM* connections_;
  CURL* transfer_;
};

void append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  if (!list) list.reset(longer);  // Otherwise the pointer is unchanged.
}

void check_header(const Header& header) {
  const auto breaks = [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; };
  const auto breaks_name = [](unsigned char c) { return c <= ' ' || c >= 127 || c == ':'; };
  if (header.name.empty() || std::ranges::any_of(header.name, breaks_name) ||
      std::ranges::any_of(header.value, breaks))
    throw Error(ErrorKind::usage, "the header '" + printable(header.name) +
                                      "' has a control character, which cannot be sent");
}

/// Returns the headers in libcurl's form: "Name;" is a header without a value, "Name:" removes a
/// header that libcurl would add.
CurlList header_lines(const std::vector<Header>& headers) {
  CurlList lines;
  for (const Header& header : headers) {
    check_header(header);
    append(lines, header.name + (header.value.empty() ? ";" : ": " + header.value));
  }
  for (const char* own : {"Accept", "Content-Type", "Expect"})
    if (!find_header(headers, own)) append(lines, std::string(own) + ":");
  return lines;
}

bool is_safe(const std::string& method) {
  return method == "GET" || method == "HEAD";
}

void prepare_body(CURL* transfer, const Request& request) {
  if (request.method == "HEAD") curl_easy_setopt(transfer, CURLOPT_NOBODY, 1L);
  if (!is_safe(request.method) || !request.body.empty()) {
    curl_easy_setopt(transfer, CURLOPT_POST, 1L);
    curl_easy_setopt(transfer, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(transfer, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  if (request.method != "HEAD")
    curl_easy_setopt(transfer, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

CurlFailure failure_of(CURL* transfer, CURLcode code, const CurlAnswer& answer,
                       const char* detail) {
  CurlFailure failure{.code = code, .detail = detail, .reached = answer.times_sent > 0};
  curl_easy_getinfo(transfer, CURLINFO_OS_ERRNO, &failure.system_error);
  return failure;
}

/// Throws the failure of an exchange, as RequestNotSent if the request cannot have reached the
/// server.
[[noreturn]] void fail(const Error& error, const CurlAnswer& answer) {
  if (answer.times_sent == 0) throw RequestNotSent(error);
  throw Error(error);
}

/// Makes the transfer show our certificate. libcurl copies both texts.
void set_identity(CURL* transfer, const ClientCertificate& identity) {
  const auto blob_of = [](const std::string& text) {
    curl_blob blob{};
    blob.data = const_cast<char*>(text.data());  // libcurl does not write to it.
    blob.len = text.size();
    blob.flags = CURL_BLOB_COPY;
    return blob;
  };
  const curl_blob certificate = blob_of(identity.certificate);
  const curl_blob key = blob_of(identity.key.reveal());
  curl_easy_setopt(transfer, CURLOPT_SSLCERTTYPE, "PEM");
  curl_easy_setopt(transfer, CURLOPT_SSLCERT_BLOB, &certificate);
  curl_easy_setopt(transfer, CURLOPT_SSLKEYTYPE, "PEM");
  curl_easy_setopt(transfer, CURLOPT_SSLKEY_BLOB, &key);
}

}  // namespace

CurlLine::CurlLine() : connections_(curl_multi_init()), transfer_(curl_easy_init()) {
  if (!connections_ || !transfer_) throw std::bad_alloc();
}

CurlLine::~CurlLine() {
  const NoBrokenPipe quiet;  // TLS sends a closing message.
  transfer_.reset();
  connections_.reset();
}

Response CurlLine::exchange(const Request& request, const Route& route, const Cancel& cancel) {
  cancel.check();
  const NoBrokenPipe quiet;
  std::array<char, CURL_ERROR_SIZE> detail{};
  CurlAnswer answer{.largest = request.largest_answer,
                    .resending = is_safe(request.method) ? Resending::allowed : Resending::refused,
                    .on_data = &request.on_data};
  curl_easy_reset(transfer_.get());
  prepare(request, route);
  const CurlList headers = header_lines(request.headers);
  curl_easy_setopt(transfer_.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(transfer_.get(), CURLOPT_ERRORBUFFER, detail.data());
  gather(transfer_.get(), answer);
  CURLcode code = CURLE_OK;
  try {
    code = run(cancel);
  } catch (const Error& e) {  // A cancel.
    fail(e, answer);
  }
  if (answer.failure) std::rethrow_exception(answer.failure);
  if (answer.is_too_long)
    throw Error(ErrorKind::capacity, route.url.authority + ": the answer is longer than " +
                                         std::to_string(request.largest_answer) + " bytes");
  if (code != CURLE_OK)
    fail(curl_error(failure_of(transfer_.get(), code, answer, detail.data()), request,
                    route.url.authority),
         answer);
  long status = 0;
  curl_easy_getinfo(transfer_.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.response.status = static_cast<int>(status);
  return std::move(answer.response);
}

void CurlLine::prepare(const Request& request, const Route& route) {
  CURL* transfer = transfer_.get();
  curl_easy_setopt(transfer, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(transfer, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(transfer, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
  // A name look-up that hangs is left to end by itself, without a wait.
  curl_easy_setopt(transfer, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(transfer, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(transfer, CURLOPT_MAXAGE_CONN, kLongestIdleSeconds);
  curl_easy_setopt(transfer, CURLOPT_TIMEOUT_MS, static_cast<long>(request.limit.count()));
  if (request.silence.count() > 0) {
    curl_easy_setopt(transfer, CURLOPT_LOW_SPEED_LIMIT, 1L);  // Bytes per second.
    curl_easy_setopt(transfer, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.silence.count()));
  }
  curl_easy_setopt(transfer, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_limit.count()));
  curl_easy_setopt(transfer, CURLOPT_PROXY, request.direct ? "" : route.proxy.url.c_str());
  curl_easy_setopt(transfer, CURLOPT_NOPROXY, route.proxy.except.c_str());
  curl_easy_setopt(transfer, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(transfer, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(transfer, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (route.trust != nullptr) route.trust->set(transfer);
  if (route.identity != nullptr) set_identity(transfer, *route.identity);
  prepare_body(transfer, request);
}

CURLcode CurlLine::run(const Cancel& cancel) {
  const Attached attached(connections_.get(), transfer_.get());
  for (;;) {
    int running = 0;
    int left = 0;
    if (curl_multi_perform(connections_.get(), &running) != CURLM_OK) throw std::bad_alloc();
    const CURLMsg* message = curl_multi_info_read(connections_.get(), &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) return message->data.result;
    cancel.check();
    curl_waitfd stop{cancel.fd(), CURL_WAIT_POLLIN, 0};
    curl_multi_poll(connections_.get(), &stop, 1, 1000, nullptr);
  }
}

}  // namespace fastgpu::http
