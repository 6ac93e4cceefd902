#include "launcher/kubernetes/refusal.hpp"

#include <string_view>

#include "base/json.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMessage = 400;

/// The server's own error object, a Status; fields that are missing are empty.
struct ServerStatus {
  std::string message{};
  std::string reason{};  ///< "AlreadyExists".
  std::string kind{};    ///< The kind of object that the error is about: "namespaces".
};

std::string text_in(const json& object, const char* key) {
  const json value = object.value(key, json());
  return value.is_string() ? value.get<std::string>() : "";
}

ServerStatus status_in(const http::Response& response) {
  const json object = try_parse_json(response.body);
  if (!object.is_object() || text_in(object, "kind") != "Status") return {};
  ServerStatus status{.message = printable(text_in(object, "message"), kMostMessage),
                      .reason = text_in(object, "reason")};
  const json details = object.value("details", json::object());
  if (details.is_object()) status.kind = text_in(details, "kind");
  return status;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Error forbidden(const ServerStatus& status, const std::string& text) {
  if (has(status.message, "exceeded quota"))
    return {ErrorKind::capacity,
            text +
                "; wait until other jobs of the namespace have ended and are deleted, ask for "
                "less, or have its ResourceQuota raised"};
  if (has(status.message, "is being terminated"))
    return {ErrorKind::conflict,
            text +
                "; name another namespace with --set kubernetes.namespace=NAME, or create this "
                "one again once it is gone"};
  return {ErrorKind::denied, text};
}

Error not_found(const ServerStatus& status, const http::Response& response,
                const std::string& text) {
  if (status.kind == "namespaces" || status.message.starts_with("namespaces \""))
    return {ErrorKind::not_found,
            text + "; create the namespace, or name another with --set kubernetes.namespace=NAME"};
  const bool lacks_kind = has(status.message, "could not find the requested resource") ||
                          has(response.body, "404 page not found");
  if (lacks_kind)
    return {ErrorKind::not_found,
            text + ": Kubeflow's MPI operator (MPIJob v2beta1) is not installed there"};
  return {ErrorKind::not_found, text};
}

Error conflict(const ServerStatus& status, const std::string& text) {
  const bool exists = status.reason == "AlreadyExists" || has(status.message, "already exists");
  return {ErrorKind::conflict, text + (exists ? "; give this job another name" : "")};
}

}  // namespace

bool is_worth_repeating(const http::Response& response) {
  if (response.status == 429 || response.status >= 500) return true;
  // Two requests have changed one object of the server at once, such as the count of a quota.
  return response.status == 409 && status_in(response).reason == "Conflict";
}

Error refusal(const http::Response& response, const std::string& context) {
  const ServerStatus status = status_in(response);
  const std::string message =
      status.message.empty() ? "HTTP status " + std::to_string(response.status) : status.message;
  const std::string where = "Kubernetes (context " + context + "): ";
  if (response.status == 429)
    return {ErrorKind::transient, where + "the server is too busy, and asks to wait: " + message +
                                      "; run the command again later"};
  if (is_worth_repeating(response)) return {ErrorKind::transient, where + message};
  switch (response.status) {
    case 401:
      return {ErrorKind::denied, where + "the server refuses the login: " + message +
                                     "; a token or certificate may have expired"};
    case 403:
      return forbidden(status, where + message);
    case 404:
      return not_found(status, response, where + message);
    case 409:
      return conflict(status, where + message);
    default:
      return {ErrorKind::remote, where + message};
  }
}

}  // namespace fastgpu::launcher
