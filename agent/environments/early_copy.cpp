#include "agent/environments/early_copy.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transfer/relay_report.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 200ms;
constexpr auto kToGiveUp = 5s;
constexpr std::size_t kMostReports = 8 << 20;

/// All that comes, to its end.
std::string read_reports(int fd, const Listener& listener) {
  std::string text;
  std::string buffer(4096, '\0');
  while (text.size() < kMostReports) {
    listener.gone().check();
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kBetweenLooks.count())) <= 0) continue;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

EarlyCopy::EarlyCopy(std::filesystem::path version, std::vector<std::string> way)
    : version_(std::move(version)), way_(std::move(way)) {}

void EarlyCopy::start() {
  if (relay_ || way_.empty()) return;
  process::Command command{.argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                    "relay", "--from", version_.string(), "--to",
                                    version_.string()}};
  command.argv.insert(command.argv.end(), way_.begin(), way_.end());
  command.in.mode = process::StreamMode::pipe;
  command.out.mode = process::StreamMode::pipe;
  command.err.mode = process::StreamMode::null;
  command.orphaned = process::Orphaned::is_killed;
  relay_.emplace(command);
}

void EarlyCopy::offer(std::span<const std::string> paths) {
  const std::scoped_lock lock(ordering_);
  append_order(version_, paths);
  say(BuildWord::more);
}

std::vector<std::size_t> EarlyCopy::finish(Listener& listener) {
  if (!relay_) return {};
  const auto nodes = way_.end() - std::ranges::find(way_, "--") - 1;
  listener.tell("copying to " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"));
  say(BuildWord::rest);
  std::vector<std::size_t> reached;
  const std::string reports = read_reports(relay_->out().get(), listener);
  for (const transfer::RelayReport& report : transfer::parse_reports(reports))
    if (report.status == 0) reached.push_back(report.distance);
  relay_.reset();
  return reached;
}

void EarlyCopy::give_up() {
  if (!relay_) return;
  say(BuildWord::none);
  relay_->wait_for(kToGiveUp, nullptr);
  relay_.reset();
}

/// To nobody where the chain has broken: who asked for the copy looks at the nodes afterwards.
void EarlyCopy::say(BuildWord word) {
  if (!relay_) return;
  const char letter = static_cast<char>(word);
  while (::write(relay_->in().get(), &letter, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace fastgpu::agent
