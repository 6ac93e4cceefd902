// The only file format between launcher and agent: "key=value" followed by NUL, any number of
// times. Arguments and variables cannot contain a NUL. Records in records are escaped.
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
  /// Parses a text; `what` names it in errors. Throws remote if it is incomplete or has no '='.
  Records(std::string_view text, std::string what);

  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, std::int64_t value);
  /// Adds `records` as one value: a backslash is written "\\" in it, a NUL "\0".
  void add(std::string_view key, const Records& records);

  std::string text() const;

  /// Returns the first value of `key`. Throws remote, naming the key, if it is missing or not a
  /// number.
  std::string get(std::string_view key) const;
  std::int64_t number(std::string_view key) const;
  std::vector<std::string> all(std::string_view key) const;
  /// Returns the records that are values of `key`; `what` names one in errors. Throws remote for a
  /// value that is not records.
  std::vector<Records> nested(std::string_view key, const std::string& what) const;

 private:
  std::string what_ = "records";
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace fastgpu::agent
