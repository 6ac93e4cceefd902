// The service that gives a machine in a cloud its own data, and its role's keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// A vendor's step to get the token for later requests.
struct TokenStep {
  const char* path;
  const char* lifetime_header;
  const char* token_header;
};

/// The metadata service. Outside a cloud it does not answer: one second is lost, and every answer
/// is absent.
class Metadata {
 public:
  Metadata(const Search& search, std::string base) : search_(search), base_(std::move(base)) {}

  /// Gets a token for later requests; false without a service. A service without tokens reports
  /// that, and is used without one if `required` does not forbid it.
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

/// The place of a role's keys: a list of one role at `folder`, its keys below.
struct RolePlace {
  const char* folder;
  KeyNames names;
  const char* who;  ///< "the instance metadata of AWS"
};

/// Returns the keys of the machine's role, or of `role` if it is given; absent without a role.
/// Throws denied if the service reports that it has no keys for it.
std::optional<Credentials> role_keys(Metadata& metadata, const RolePlace& place,
                                     const std::string& role = {});

}  // namespace fastgpu::provision::credentials
