// Requests to the API server of Kubernetes: strictly read answers, and requests that are repeated
// where this is safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "http/backoff.hpp"
#include "http/client.hpp"
#include "launcher/kubernetes/kubeconfig.hpp"

namespace fastgpu::launcher {

/// Thrown by KubernetesApi::create() when the object may exist: a request was sent, and no answer
/// shows its effect. The kind is that of the last failure.
class UnclearCreation : public Error {
 public:
  explicit UnclearCreation(const Error& why) : Error(why) {}
};

/// All calls throw
/// - denied for a login that the server refuses (401, 403)
/// - capacity for an exceeded quota
/// - transient if the server does not answer, or with 429 or 5xx, also after repetitions
/// - remote for an answer that is not understood, and for any other status.
class KubernetesApi {
 public:
  /// Borrows `client`.
  KubernetesApi(http::Client& client, KubernetesAccess access, http::Backoff backoff = {});

  const KubernetesAccess& access() const noexcept { return access_; }

  /// Returns how far the server's clock is ahead of ours, by the header "Date" of its last answer;
  /// 0 if they agree within the time that the answer took, or it has none.
  std::chrono::seconds clock_offset() const noexcept { return clock_offset_; }

  /// Returns the object at a path, such as "/api/v1/pods"; absent if it does not exist (404).
  std::optional<nlohmann::json> find(const std::string& path, const Cancel& cancel);

  /// Creates an object, whose `key` is an annotation that nothing else has: if a try was lost and
  /// the object exists with this key, it is ours. Throws conflict if it exists with another one,
  /// and UnclearCreation if it may have been created; after any other exception it was not.
  nlohmann::json create(const std::string& path, const nlohmann::ordered_json& object,
                        const std::string& key, const Cancel& cancel);

  /// Lets the server check an object, and create nothing.
  void try_create(const std::string& path, const nlohmann::ordered_json& object,
                  const Cancel& cancel);

  /// Removes an object, if it has the key. An empty key fits any object. Returns false if there is
  /// no such object.
  bool remove(const std::string& path, const std::string& key, const Cancel& cancel);

  /// Passes on the body of an answer as it arrives, for as long as the server sends it. Returns
  /// false if there is nothing at that path. Not repeated: a broken stream throws transient.
  bool stream(const std::string& path, const std::function<void(std::string_view)>& take,
              const Cancel& cancel);

 private:
  http::Request request(const std::string& method, const std::string& path) const;
  http::Response send(const http::Request& request, const Cancel& cancel);
  void note_clock(const http::Response& response, std::chrono::system_clock::time_point sent);
  /// Tells whether the tries of a request may have changed something although no answer shows it.
  enum class Effect : std::uint8_t { none, possible };
  http::Response send_until_answered(const http::Request& request, const Cancel& cancel);
  http::Response send_until_answered(const http::Request& request, const Cancel& cancel,
                                     Effect& effect);
  nlohmann::json create(const std::string& path, const nlohmann::ordered_json& object,
                        const std::string& key, const Cancel& cancel, Effect& effect);
  Error failure_of(const http::Response& response) const;
  /// Returns an answer as an object of this kind; an empty one fits any object.
  nlohmann::json object_in(const http::Response& response, const std::string& path,
                           const std::string& kind = {}) const;

  http::Client& client_;
  KubernetesAccess access_;
  http::Backoff backoff_;
  std::chrono::seconds clock_offset_{0};
};

/// The annotation that create() needs.
inline constexpr const char* kKubernetesKey = "fastgpu/key";

/// Returns true if the object has the key. An empty key fits any object.
bool has_key(const nlohmann::json& object, const std::string& key);

}  // namespace fastgpu::launcher
