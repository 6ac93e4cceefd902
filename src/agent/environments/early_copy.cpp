#include "agent/environments/early_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/environments/sum_lines.hpp"
#include "base/counted.hpp"
#include "transfer/relay_report.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 10ms;
constexpr auto kToGiveUp = 5s;
constexpr std::size_t kMostHeard = 256UL << 20;

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
  command.on_parent_death = process::OnParentDeath::kill;
  relay_.emplace(command);
  UniqueFd own(::fcntl(relay_->out().get(), F_DUPFD_CLOEXEC, 0));
  hearer_ = std::jthread([this, relay = std::move(own)] { hear(relay); });
}

/// Reads the relay's output to its end, which comes at the latest when the relay is destroyed.
void EarlyCopy::hear(const UniqueFd& relay) {
  std::string buffer(1UL << 16, '\0');
  std::size_t size = 0;
  for (ssize_t got = 0; size < kMostHeard; size += static_cast<std::size_t>(got)) {
    do
      got = ::read(relay.get(), buffer.data(), buffer.size());
    while (got < 0 && errno == EINTR);
    if (got <= 0) break;
    const std::scoped_lock lock(hearing_);
    heard_.append(buffer, 0, static_cast<std::size_t>(got));
  }
  const std::scoped_lock lock(hearing_);
  is_over_ = true;
}

bool EarlyCopy::is_over() const {
  const std::scoped_lock lock(hearing_);
  return is_over_;
}

KnownSums EarlyCopy::sums() const {
  const std::scoped_lock lock(hearing_);
  return parse_sum_lines(heard_);
}

void EarlyCopy::offer(std::span<const std::string> paths) {
  const std::scoped_lock lock(ordering_);
  append_order(version_, paths);
  say(BuildWord::more);
}

std::vector<std::size_t> EarlyCopy::finish(Listener& listener) {
  if (!relay_) return {};
  const auto nodes = way_.end() - std::ranges::find(way_, "--") - 1;
  listener.tell("copying to " + counted(nodes, "node"));
  say(BuildWord::rest);
  while (!is_over()) {
    listener.gone().check();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  std::vector<std::size_t> reached;
  for (const transfer::RelayReport& report : transfer::parse_reports(heard_))
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

/// Sends a message to the relay. Ignores a broken chain, because the client checks the nodes
/// afterwards.
void EarlyCopy::say(BuildWord word) {
  if (!relay_) return;
  const char letter = static_cast<char>(word);
  while (::write(relay_->in().get(), &letter, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace fastgpu::agent
