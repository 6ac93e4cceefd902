// The service that tells a machine in a cloud about itself, and gives it its role's keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

/// How a vendor hands out the token that later questions bear.
struct TokenStep {
  const char* path;
  const char* lifetime_header;
  const char* token_header;
};

/// Outside a cloud nobody answers: one second is lost, and every answer is absent.
class Metadata {
 public:
  Metadata(const Search& search, std::string base) : search_(search), base_(std::move(base)) {}

  /// Gets a token that later questions bear; false where nobody is there. A service that knows no
  /// tokens answers so, and is asked without one if `required` does not forbid it.
  enum class Token : std::uint8_t { wanted, required };
  bool begin(const TokenStep& step, Token need);

  /// The text at `path`; absent where there is none.
  std::optional<std::string> get(const std::string& path);

 private:
  std::optional<http::Response> ask(const http::Request& request);

  const Search& search_;
  std::string base_;
  std::vector<http::Header> headers_;
};

/// The first line of `text`, percent-encoded: a role's name as a part of a path.
std::string role_in(const std::string& text);

/// Where the keys of a role are: a list of one role at `folder`, its keys below.
struct RolePlace {
  const char* folder;
  KeyNames names;
  const char* who;  ///< "the instance metadata of AWS"
};

/// The keys of the machine's role, or of `role` where it is given; absent without a role. Throws
/// denied where the service says that it has no keys for it.
std::optional<Credentials> role_keys(Metadata& metadata, const RolePlace& place,
                                     const std::string& role = {});

}  // namespace fastgpu::provision::credentials
