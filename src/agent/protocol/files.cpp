#include "agent/protocol/files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::string_view kFirstLine = "fastgpu-files 1";
constexpr std::string_view kLastLine = "end";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::remote, "files for this node: " + why);
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) refuse("the text is cut off");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class T>
T parse(std::string_view text, int base) {
  const auto value = to_number<T>(text, base);
  if (!value) refuse("'" + printable(text) + "' is not a number");
  return *value;
}

void check_name(std::string_view name) {
  const std::filesystem::path path(name);
  bool good = !name.empty() && path.is_relative();
  for (const auto& part : path)
    good = good && part != ".." && !part.empty();
  if (!good) refuse("the name '" + printable(name) + "' leads elsewhere");
}

std::string octal(unsigned value) {
  std::array<char, 16> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 8).ptr;
  return {buffer.data(), end};
}

}  // namespace

std::string encode_files(const std::vector<SmallFile>& files) {
  std::string out = std::string(kFirstLine) + "\n";
  for (const SmallFile& file : files) {
    out += octal(file.mode) + " " + std::to_string(file.content.size()) + " " + file.name + "\n";
    out += file.content;
  }
  return out + std::string(kLastLine) + "\n";
}

std::vector<SmallFile> decode_files(std::string_view text) {
  if (take_line(text) != kFirstLine)
    refuse("the first line is not '" + std::string(kFirstLine) + "'");
  std::vector<SmallFile> files;
  for (std::string_view line = take_line(text); line != kLastLine; line = take_line(text)) {
    const auto mode = parse<unsigned>(take_word(line), 8);
    const auto size = parse<std::size_t>(take_word(line), 10);
    check_name(line);
    if (size > text.size()) refuse("'" + printable(line) + "' is cut off");
    files.push_back({std::string(line), std::string(text.substr(0, size)), mode & 0777});
    text.remove_prefix(size);
  }
  return files;
}

std::string carried_files(const std::vector<SmallFile>& files) {
  return base64_encode(encode_files(files)) + "\n";
}

std::vector<SmallFile> files_in_script(std::string_view script) {
  if (script.ends_with('\n')) script.remove_suffix(1);
  const auto text = base64_decode(script.substr(script.rfind('\n') + 1));
  if (!text) refuse("the last line of the batch script is not in Base64");
  return decode_files(*text);
}

}  // namespace fastgpu::agent
