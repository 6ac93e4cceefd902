#include "config/document.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"
#include "base/utf8.hpp"

namespace fastgpu::config {
namespace {

UniqueFd open_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (fd && ::fstat(fd.get(), &status) == 0) {
    if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return fd;
    throw Error(ErrorKind::usage, printable(path.string()) + " is not a file but a " +
                                      (S_ISDIR(status.st_mode) ? "directory" : "device"));
  }
  if (errno == ENOENT)
    throw Error(ErrorKind::not_found, "there is no file " + printable(path.string()));
  throw system_error("opening " + printable(path.string()), errno);
}

std::string source_of(const std::filesystem::path& path) {
  return path == "-" ? "standard input" : printable(path.string());
}

/// Returns the text without a byte order mark. Throws usage if nothing but blanks is left.
std::string checked_text(std::string_view bytes, const std::string& source) {
  const std::string_view text = without_byte_order_mark(bytes);
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) return std::string(text);
  throw Error(ErrorKind::usage, source + " is empty");
}

std::vector<std::string> split_path(std::string_view path) {
  const auto words = split(path, '.');
  return {words.begin(), words.end()};
}

/// The value of one `--set`, and its place for errors.
struct Assignment {
  SourcePosition place;
  TreePtr value;
};

TreePtr replaced(const TreePtr& tree, std::span<const std::string> path, const Assignment& set);

TreePtr replaced_item(const Tree& list, std::span<const std::string> path, const Assignment& set) {
  const std::string& word = path.front();
  const auto index = to_number<std::size_t>(word);
  if (!index || *index >= list.items.size())
    throw Error(ErrorKind::usage, set.place.text() + ": '" + printable(word) +
                                      "' is not an index in a list of " +
                                      std::to_string(list.items.size()));
  Tree changed = list;
  changed.items[*index] = replaced(list.items[*index], path.subspan(1), set);
  return std::make_shared<const Tree>(std::move(changed));
}

TreePtr replaced_entry(const Tree& map, std::span<const std::string> path, const Assignment& set) {
  Tree changed = map;
  changed.kind = Tree::Kind::map;
  const auto found = std::ranges::find(changed.entries, path.front(), &Entry::key);
  if (found != changed.entries.end()) {
    found->value = replaced(found->value, path.subspan(1), set);
  } else {
    const TreePtr empty = std::make_shared<const Tree>(Tree{.place = set.place});
    changed.entries.push_back(
        {.key = path.front(), .place = set.place, .value = replaced(empty, path.subspan(1), set)});
  }
  return std::make_shared<const Tree>(std::move(changed));
}

TreePtr replaced(const TreePtr& tree, std::span<const std::string> path, const Assignment& set) {
  if (path.empty()) return set.value;
  switch (tree->kind) {
    case Tree::Kind::null:
    case Tree::Kind::map:
      return replaced_entry(*tree, path, set);
    case Tree::Kind::list:
      return replaced_item(*tree, path, set);
    case Tree::Kind::scalar:
      break;
  }
  throw Error(ErrorKind::usage, set.place.text() + ": '" + printable(path.front()) +
                                    "' would lie in a value that has no parts");
}

/// Returns a copy of the tree with `place` as the place of all its parts, because text of a command
/// line has no lines.
TreePtr moved(const TreePtr& tree, const SourcePosition& place) {
  Tree copy = *tree;
  copy.place = place;
  for (TreePtr& item : copy.items)
    item = moved(item, place);
  for (Entry& entry : copy.entries) {
    entry.place = place;
    entry.value = moved(entry.value, place);
  }
  return std::make_shared<const Tree>(std::move(copy));
}

}  // namespace

std::string read_all(int fd, const std::string& source) {
  std::string text;
  std::array<char, 1 << 14> buffer{};
  while (text.size() <= kLargestText) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLIN, 0};
      if (::poll(&ready, 1, -1) >= 0) continue;
    }
    if (got < 0 && errno == EINTR)
      throw Error(ErrorKind::interrupted, "interrupted while reading " + source);
    if (got < 0) throw system_error("reading " + source, errno);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string read_text(const std::filesystem::path& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "the name of the file is empty");
  const std::string source = source_of(path);
  if (path == "-") return checked_text(read_all(STDIN_FILENO, source), source);
  const UniqueFd fd = open_file(path);
  return checked_text(read_all(fd.get(), source), source);
}

Document::Document() : Document(parse("", "")) {}

Document Document::parse(const std::string& text, const std::string& source) {
  return Document(parse_yaml(text, source));
}

Document Document::read(const std::filesystem::path& path) {
  return of_file(read_text(path), path);
}

Document Document::of_file(const std::string& text, const std::filesystem::path& path) {
  const std::string source = source_of(path);
  Document document = parse(text, source);
  if (document.root().is_null())
    throw Error(ErrorKind::usage, source + " has no fields: all that is in it is a comment");
  return document;
}

void Document::set(const std::string& assignment) {
  constexpr std::size_t kLongest = 4096;
  const std::string source = "--set " + printable(assignment);
  const std::size_t equals = assignment.find('=');
  const SourcePosition place{.source = std::make_shared<const std::string>(source)};
  const std::vector<std::string> path = split_path(assignment.substr(0, equals));
  if (equals == std::string::npos || assignment.size() > kLongest || path.size() > kDeepest ||
      std::ranges::any_of(path, [](const std::string& word) { return word.empty(); }))
    throw Error(ErrorKind::usage,
                source +
                    ": write a field of the file and its value: --set FIELD=VALUE, or --set "
                    "FIELD.0.FIELD=VALUE");
  const std::string text = assignment.substr(equals + 1);
  TreePtr value = moved(parse_yaml(text, source), place);
  if (text.empty())
    value = std::make_shared<const Tree>(
        Tree{.kind = Tree::Kind::scalar, .place = place, .is_quoted = true});
  tree_ = replaced(tree_, path, {.place = place, .value = value});
}

}  // namespace fastgpu::config
