#include "envs/environments/pinned_file.hpp"

#include <array>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "envs/environments/index_logins.hpp"
#include "http/urls.hpp"
#include "state/directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 15min;
constexpr std::size_t kLargest = 1UL << 30U;
constexpr int kMostRedirects = 5;
constexpr std::array kRedirects = {301, 302, 303, 307, 308};

/// Returns the target of a redirection; empty without one, or if it would lose encryption.
std::string redirection(const http::Response& answer, const std::string& url) {
  const auto location = answer.header("Location");
  if (!contains(kRedirects, answer.status) || !location) return "";
  const http::Url from = http::parse_url(url);
  std::string to(*location);
  if (to.starts_with('/') && !to.starts_with("//")) to = from.scheme + "://" + from.authority + to;
  return to.starts_with("https://") || (from.scheme == "http" && to.starts_with("http://")) ? to
                                                                                            : "";
}

/// Returns the failure of a fetch with the file that was wanted, and the advice.
Error unreached(const Error& e, const std::string& url, std::string_view hint) {
  if (e.kind() == ErrorKind::interrupted) return e;
  return Error(e.kind(), url + " cannot be fetched: " + e.what() + "; " + std::string(hint));
}

/// Follows redirections: files of GitHub's releases are on other hosts.
http::Response get_following(const std::string& url, std::chrono::seconds silence,
                             const std::optional<Secret>& authorization, http::Client& http,
                             const Cancel& cancel) {
  std::string at = url;
  for (int redirects = 0;; ++redirects) {
    http::Request request{
        .url = at, .limit = kTimeout, .silence = silence, .largest_answer = kLargest};
    if (authorization && root_of(at) == root_of(url))
      http::set_header(request.headers, "Authorization", authorization->reveal());
    auto answer = http.send(request, cancel);
    std::string next = redirection(answer, at);
    if (next.empty() || redirects == kMostRedirects) return answer;
    at = std::move(next);
  }
}

}  // namespace

const PinnedFile& pinned_for(std::string_view machine, std::span<const PinnedFile> wheels,
                             std::string_view what) {
  for (const PinnedFile& wheel : wheels)
    if (wheel.machine == machine) return wheel;
  throw Error(ErrorKind::usage, "there is no " + std::string(what) + " for processor '" +
                                    std::string(machine) + "': only for x86_64 and aarch64");
}

std::string fetch_pinned(const PinnedFile& file, std::string_view hint, http::Client& http,
                         const Cancel& cancel, std::chrono::seconds silence,
                         const std::optional<Secret>& authorization) {
  const std::string url(file.url);
  http::Response answer;
  try {
    answer = get_following(url, silence, authorization, http, cancel);
  } catch (const Error& e) {
    throw unreached(e, url, hint);
  }
  if (answer.status != 200)
    throw Error(ErrorKind::remote, "HTTP " + std::to_string(answer.status) + " from " + url + "; " +
                                       std::string(hint));
  const std::string sum = transfer::sha256_hex(answer.body);
  if (sum != file.sha256)
    throw Error(ErrorKind::remote, url + " has the SHA-256 " + sum + ", not " +
                                       std::string(file.sha256) + ": it is not used");
  return std::move(answer.body);
}

std::string fetch_kept(const PinnedFile& file, const std::filesystem::path& kept,
                       std::string_view hint, http::Client& http, const Cancel& cancel) {
  if (auto bytes = read_file(kept); bytes && transfer::sha256_hex(*bytes) == file.sha256)
    return std::move(*bytes);
  std::string bytes = fetch_pinned(file, hint, http, cancel);
  state::make_private_directory(kept.parent_path());
  state::write_private_file(kept, bytes);
  return bytes;
}

}  // namespace fastgpu::envs
