#include "launcher/kubernetes/api.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/random.hpp"
#include "base/wait.hpp"
#include "launcher/kubernetes/refusal.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLargestObject = 8U << 20U;
/// A log stream that brings nothing for this long is opened again.
constexpr std::chrono::seconds kSilence{120};

std::optional<milliseconds> retry_after(const http::Response& response) {
  const auto header = response.header("Retry-After");
  if (!header) return std::nullopt;
  return http::parse_retry_after(*header, std::chrono::system_clock::now());
}

/// Returns the member of an object, or null if the object does not have it.
json member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? json() : *found;
}

/// Returns what an answer is that is no object of Kubernetes, without its text, which may have
/// secrets: "an HTML page".
std::string name_of(const http::Response& response, const json& content) {
  const auto first = response.body.find_first_not_of(" \t\r\n");
  if (first == response.body.npos)
    return "empty (HTTP status " + std::to_string(response.status) + ")";
  if (response.body[first] == '<') return "an HTML page";
  if (content.is_discarded()) return "text that is not JSON";
  if (!content.is_object()) return std::string("JSON of the type ") + content.type_name();
  const json kind = member(content, "kind");
  if (!kind.is_string()) return "a JSON object without a kind";
  constexpr std::size_t kLongestKind = 60;
  return "an object of the kind " + printable(kind.get<std::string>(), kLongestKind);
}

/// Returns true for the failure of a request that cannot be made here: nothing of it is sent.
bool is_unsendable(const Error& e) {
  return e.kind() == ErrorKind::usage || e.kind() == ErrorKind::local;
}

std::string uid_of(const json& object) {
  const json uid = member(member(object, "metadata"), "uid");
  return uid.is_string() ? uid.get<std::string>() : "";
}

}  // namespace

bool has_key(const json& object, const std::string& key) {
  const json annotations = member(member(object, "metadata"), "annotations");
  return key.empty() || member(annotations, kKubernetesKey) == json(key);
}

KubernetesApi::KubernetesApi(http::Client& client, KubernetesAccess access, http::Backoff backoff)
    : client_(client), access_(std::move(access)), backoff_(backoff) {}

http::Request KubernetesApi::request(const std::string& method, const std::string& path) const {
  http::Request request{.method = method, .url = access_.server + path};
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "fastgpu"}};
  if (!access_.token.reveal().empty())
    request.headers.push_back({"Authorization", "Bearer " + access_.token.reveal()});
  request.largest_answer = kLargestObject;
  return request;
}

Error KubernetesApi::failure_of(const http::Response& response) const {
  return refusal(response, access_.context);
}

json KubernetesApi::object_in(const http::Response& response, const std::string& path,
                              const std::string& kind) const {
  json content = try_parse_json(response.body);
  const bool is_wanted =
      content.is_object() && (kind.empty() || member(content, "kind") == json(kind));
  if (is_wanted) return content;
  throw Error(ErrorKind::remote,
              "Kubernetes (context " + access_.context + "): the answer of " + access_.server +
                  " to " + path + " is " + name_of(response, content) + ", and not " +
                  (kind.empty() ? "an object of Kubernetes" : "an " + kind) +
                  ": a login page or a proxy may have answered instead of the API server");
}

http::Response KubernetesApi::send(const http::Request& request, const Cancel& cancel) {
  const std::string where = "Kubernetes (context " + access_.context + ")";
  try {
    return client_.send(request, cancel);
  } catch (const http::RequestNotSent& e) {
    throw http::RequestNotSent(e.during(where));
  } catch (const Error& e) {
    throw e.during(where);
  }
}

void KubernetesApi::note_clock(const http::Response& response,
                               std::chrono::system_clock::time_point sent) {
  const auto received = std::chrono::system_clock::now();
  const auto offset = http::clock_offset(response.header("Date"), received);
  if (!offset) return;
  // The header has whole seconds, and the answer may have been written as soon as the request.
  const auto doubt =
      std::chrono::ceil<std::chrono::seconds>(received - sent) + std::chrono::seconds(1);
  clock_offset_ = std::chrono::abs(*offset) <= doubt ? std::chrono::seconds(0) : *offset;
}

http::Response KubernetesApi::send_until_answered(const http::Request& request,
                                                  const Cancel& cancel) {
  Effect effect = Effect::none;
  return send_until_answered(request, cancel, effect);
}

http::Response KubernetesApi::send_until_answered(const http::Request& request,
                                                  const Cancel& cancel, Effect& effect) {
  const auto start = SteadyClock::now();
  for (int number = 1;; ++number) {
    http::Tried tried{.attempts = number};
    std::optional<Error> failure;
    cancel.check();
    try {
      const auto sent = std::chrono::system_clock::now();
      http::Response response = send(request, cancel);
      note_clock(response, sent);
      if (response.status >= 500) effect = Effect::possible;
      if (!is_worth_repeating(response)) return response;
      failure = failure_of(response);
      tried.retry_after = retry_after(response);
    } catch (const http::RequestNotSent& e) {
      if (e.kind() != ErrorKind::transient) throw;
      failure = e;
    } catch (const Error& e) {
      if (!is_unsendable(e)) effect = Effect::possible;
      if (e.kind() != ErrorKind::transient) throw;
      failure = e;
    }
    tried.elapsed = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - start);
    const auto wait = http::next_wait(backoff_, tried, random_part());
    if (!wait) throw Error(*failure);
    wait_or_cancel(*wait, cancel);
  }
}

std::optional<json> KubernetesApi::find(const std::string& path, const Cancel& cancel) {
  const http::Response response = send_until_answered(request("GET", path), cancel);
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) throw failure_of(response);
  return object_in(response, path);
}

json KubernetesApi::create(const std::string& path, const nlohmann::ordered_json& object,
                           const std::string& key, const Cancel& cancel) {
  Effect effect = Effect::none;
  try {
    return create(path, object, key, cancel, effect);
  } catch (const Error& e) {
    if (effect == Effect::possible) throw UnclearCreation(e);
    throw;
  }
}

json KubernetesApi::create(const std::string& path, const nlohmann::ordered_json& object,
                           const std::string& key, const Cancel& cancel, Effect& effect) {
  http::Request post = request("POST", path);
  post.headers.push_back({"Content-Type", "application/json"});
  post.body = object.dump();
  const http::Response response = send_until_answered(post, cancel, effect);
  if (response.status / 100 == 2) {
    effect = Effect::possible;  // Also if its answer cannot be read.
    return object_in(response, path, object.at("kind").get<std::string>());
  }
  if (response.status == 409 && effect == Effect::possible) {
    const std::string name = object.at("metadata").at("name").get<std::string>();
    const auto there = find(path + "/" + name, cancel);
    if (there && has_key(*there, key)) return *there;  // An earlier try arrived after all.
    if (there) effect = Effect::none;                  // The name is that of another object.
  }
  throw failure_of(response);
}

void KubernetesApi::try_create(const std::string& path, const nlohmann::ordered_json& object,
                               const Cancel& cancel) {
  const std::string trial = path + "?dryRun=All";
  http::Request post = request("POST", trial);
  post.headers.push_back({"Content-Type", "application/json"});
  post.body = object.dump();
  const http::Response response = send_until_answered(post, cancel);
  if (response.status / 100 != 2) throw failure_of(response);
  object_in(response, trial, object.at("kind").get<std::string>());
}

bool KubernetesApi::remove(const std::string& path, const std::string& key, const Cancel& cancel) {
  json options = {
      {"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", "Background"}};
  if (!key.empty()) {
    const auto there = find(path, cancel);
    if (!there || !has_key(*there, key)) return false;
    // Another object may take the name meanwhile.
    if (const std::string uid = uid_of(*there); !uid.empty())
      options["preconditions"] = {{"uid", uid}};
  }
  http::Request erase = request("DELETE", path);
  erase.headers.push_back({"Content-Type", "application/json"});
  erase.body = options.dump();
  const http::Response response = send_until_answered(erase, cancel);
  if (response.status == 404 || (response.status == 409 && options.contains("preconditions")))
    return false;
  if (response.status / 100 != 2) throw failure_of(response);
  return true;
}

bool KubernetesApi::stream(const std::string& path,
                           const std::function<void(std::string_view)>& take,
                           const Cancel& cancel) {
  http::Request get = request("GET", path);
  get.limit = milliseconds(0);
  get.silence = kSilence;
  get.on_data = take;
  const http::Response response = send(get, cancel);
  if (response.status == 404) return false;
  if (response.status != 200) throw failure_of(response);
  return true;
}

}  // namespace fastgpu::launcher
