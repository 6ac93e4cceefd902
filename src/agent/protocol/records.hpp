// The one file format between the launcher and the agent: "key=value" ended by NUL, any number of
// times. Arguments and environment entries cannot contain a NUL, so no escapes are needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastgpu::agent {

class Records {
 public:
  Records() = default;
  /// Parses a text; `what` names it in errors. Throws remote if it is cut off or has no '='.
  Records(std::string_view text, std::string what);

  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, std::int64_t value);

  std::string text() const;

  /// Returns the first value of `key`; throws remote, naming the key, if it is missing or not a
  /// number.
  std::string get(std::string_view key) const;
  std::int64_t number(std::string_view key) const;
  std::vector<std::string> all(std::string_view key) const;

 private:
  std::string what_ = "records";
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace fastgpu::agent
