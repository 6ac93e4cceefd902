#include "agent/environments/order.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/disk.hpp"
#include "agent/protocol/environment.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kLargestOrder = 256UL << 20;
constexpr mode_t kReadableMode = 0644;
// The timeout in milliseconds, after which the sender sends a sign of life.
constexpr int kLongestWait = 1000;

std::filesystem::path order_of(const std::filesystem::path& version) {
  return details_of(version) / "order";
}

}  // namespace

void append_order(const std::filesystem::path& version, std::span<const std::string> paths) {
  const auto file = order_of(version);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kReadableMode));
  if (!fd) throw system_error("opening " + file.string(), errno);
  std::string text;
  for (const std::string& path : paths)
    (text += path) += '\0';
  write_all(fd.get(), text);
}

OrderedFiles::OrderedFiles(const std::filesystem::path& version, std::optional<int> words)
    : file_(order_of(version)), words_(words) {
  if (!words_) read_more();
}

transfer::FirstFile OrderedFiles::operator()(bool may_wait) {
  while (next_ == paths_.size() && words_) {
    if (!may_wait || !await_more()) return {};
  }
  if (next_ == paths_.size()) return {.is_over = true};
  return {.path = paths_[next_++]};
}

void OrderedFiles::read_more() {
  const std::string text = read_file(file_, kLargestOrder).value_or("");
  paths_.clear();
  for (std::size_t from = 0, end = 0; (end = text.find('\0', from)) != text.npos; from = end + 1)
    paths_.push_back(text.substr(from, end - from));
}

bool OrderedFiles::await_more() {
  pollfd waiting{*words_, POLLIN, 0};
  if (::poll(&waiting, 1, kLongestWait) == 0) return false;
  char word = 0;
  ssize_t got = 0;
  do
    got = ::read(*words_, &word, 1);
  while (got < 0 && errno == EINTR);
  if (got <= 0)
    throw Error(ErrorKind::interrupted, "the agent that builds the environment has gone");
  if (word == static_cast<char>(BuildWord::none)) throw BuildGivenUp{};
  if (word == static_cast<char>(BuildWord::rest)) words_.reset();
  read_more();
  return true;
}

}  // namespace fastgpu::agent
