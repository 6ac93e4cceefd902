// The service that gives a machine in a cloud its own data, and its role's keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// The request by which a vendor's service gives a token for later requests.
struct TokenStep {
  const char* path;
  const char* lifetime_header;
  const char* token_header;
};

/// The metadata service. Outside a cloud it does not answer: after one second every result is
/// absent.
class Metadata {
 public:
  Metadata(const Search& search, std::string base) : search_(search), base_(std::move(base)) {}

  /// Gets a token for later requests. Returns false without a service. A service that has no tokens
  /// is used without one, unless `need` is required.
  enum class Token : std::uint8_t { wanted, required };
  bool begin(const TokenStep& step, Token need);

  /// Returns the text at `path`; absent if it is missing.
  std::optional<std::string> get(const std::string& path);

 private:
  std::optional<http::Response> ask(const http::Request& request);

  const Search& search_;
  std::string base_;
  std::vector<http::Header> headers_;
};

/// Returns the first line of `text`, percent-encoded: a role's name as a part of a path.
std::string role_in(const std::string& text);

/// The path of a role's keys: `folder` lists the role's name, and the keys are below it.
struct RolePlace {
  const char* folder;
  KeyNames names;
  const char* who;  ///< "the instance metadata of AWS"
};

/// Returns the keys of the machine's role, or of `role` if it is not empty; absent without a role.
/// Throws denied if the service reports that it has no keys for the role.
std::optional<Credentials> role_keys(Metadata& metadata, const RolePlace& place,
                                     const std::string& role = {});

}  // namespace fastgpu::provision::credentials
