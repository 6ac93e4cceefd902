#include "http/curl_client.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "http/curl_exchange.hpp"

namespace fastgpu::http {
namespace {

/// The maximum number of idle connections that are kept for one server.
constexpr std::size_t kMostIdle = 16;

/// The global state of libcurl, which counts its users and is thread-safe.
class CurlLibrary {
 public:
  CurlLibrary() {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      throw Error(ErrorKind::local, "libcurl does not start");
  }
  ~CurlLibrary() { curl_global_cleanup(); }
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
};

}  // namespace

CurlSettings curl_settings(const Environment& environment) {
  CurlSettings settings{.environment = environment};
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const auto value = environment(name);
    if (value && !value->empty() && settings.ca_file.empty()) settings.ca_file = *value;
  }
  return settings;
}

/// The idle lines by scheme and authority. The next request to the same server uses their
/// connections.
struct CurlClient::Pool {
  using Line = std::unique_ptr<CurlLine>;

  CurlLibrary library;
  CurlSettings settings;
  std::mutex mutex;
  std::map<std::string, std::vector<Line>> idle;
  std::once_flag reading;
  std::optional<Trust> authorities;

  explicit Pool(CurlSettings given) : settings(std::move(given)) {}

  const Trust* trust_for(const Url& url) {
    if (url.scheme != "https") return nullptr;
    std::call_once(reading, [&] {
      if (settings.ca_text.empty())
        authorities.emplace(settings.ca_file);
      else
        authorities.emplace(TrustedText{settings.ca_text});
    });
    return &*authorities;
  }

  const ClientCertificate* identity_for(const Url& url) const {
    return url.scheme == "https" && settings.identity ? &*settings.identity : nullptr;
  }

  Line take(const std::string& origin) {
    const std::scoped_lock lock(mutex);
    std::vector<Line>& lines = idle[origin];
    if (lines.empty()) return std::make_unique<CurlLine>();
    Line line = std::move(lines.back());
    lines.pop_back();
    return line;
  }

  void give_back(const std::string& origin, Line line) {
    const std::scoped_lock lock(mutex);
    std::vector<Line>& lines = idle[origin];
    if (lines.size() < kMostIdle) lines.push_back(std::move(line));
  }
};

CurlClient::CurlClient(CurlSettings settings)
    : pool_(std::make_unique<Pool>(std::move(settings))) {}

CurlClient::~CurlClient() = default;

Response CurlClient::send(const Request& request, const Cancel& cancel) {
  const Url url = parse_url(request.url);
  const Route route{.url = url,
                    .proxy = choose_proxy(pool_->settings.environment, url.scheme),
                    .trust = pool_->trust_for(url),
                    .identity = pool_->identity_for(url)};
  const std::string origin = url.scheme + "://" + url.authority;
  Pool::Line line = pool_->take(origin);
  Response response = line->exchange(request, route, cancel);
  pool_->give_back(origin, std::move(line));
  return response;
}

}  // namespace fastgpu::http
