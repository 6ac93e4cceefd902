#include "provision/providers/local/rootless/world.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "base/socket_broker.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/order.hpp"
#include "provision/providers/local/rootless/prerequisites.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kWorldLimit{30};

/// Returns the program's next output, up to its end or one of the complete answers.
std::string next_answer(process::Child& child) {
  std::string answer;
  const auto end = steady_clock::now() + kWorldLimit;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
    pollfd wait{child.out().get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, 0ms).count()));
    if (ready == 0) throw Error(ErrorKind::timeout, "a user namespace has not come up in 30 s");
    std::array<char, 4096> piece;
    const ssize_t size = ready < 0 ? -1 : ::read(child.out().get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return answer;
    answer.append(piece.data(), static_cast<std::size_t>(size));
    if (answer == kUnmapped || answer == kReady || answer == kHeld) return answer;
  }
}

/// Maps ids: root inside is the calling user outside, and the other ids are those that the system
/// has reserved for this user.
void map_ids(const std::string& program, pid_t pid, unsigned own, const IdRange& range) {
  const std::vector<std::string> argv = {program,
                                         std::to_string(pid),
                                         "0",
                                         std::to_string(own),
                                         "1",
                                         "1",
                                         std::to_string(range.first),
                                         std::to_string(range.count)};
  const process::Captured done = process::capture({.argv = argv}, {}, Cancel());
  if (done.status.ok()) return;
  const std::string said = done.err.substr(0, done.err.find('\n'));
  throw Error(ErrorKind::denied, "mapping the ids of a user namespace: " +
                                     (said.empty() ? program + " refuses" : said) +
                                     " (is it set-user-ID root? apt-get install --reinstall "
                                     "uidmap)");
}

Error failure(const std::string& answer) {
  const std::string reason = answer.starts_with(kFailed) ? answer.substr(kFailed.size())
                             : answer.empty()            ? "its first process has ended"
                                                         : "it answers '" + answer + "'";
  return {ErrorKind::local, "local nodes cannot be made without root privileges here: " + reason};
}

void start_world(const fs::path& folder, const fs::path& init_program, const RootlessFacts& facts) {
  make_private_folder(folder);
  process::Child child({.argv = {init_program.string(), "hold", folder.string()},
                        .in = {.mode = process::StreamMode::pipe},
                        .out = {.mode = process::StreamMode::pipe},
                        .err = {.mode = process::StreamMode::null},
                        .directory = "/",
                        .environment = std::vector<std::string>{},
                        .grouping = process::Grouping::session});
  std::string answer = next_answer(child);
  if (answer != kUnmapped) throw failure(answer);
  map_ids(facts.newuidmap, child.pid(), ::getuid(), *facts.user_ids);
  map_ids(facts.newgidmap, child.pid(), ::getgid(), *facts.group_ids);
  if (::write(child.in().get(), "\n", 1) != 1) throw failure("");
  answer = next_answer(child);
  child.wait();  // The world's first process is its child, and in its session, and lives on.
  if (answer != kReady && answer != kHeld) throw failure(answer);
}

UniqueFd process_behind(const UniqueFd& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    throw system_error("identifying the process of a socket broker", errno);
  return open_process(peer.pid);
}

}  // namespace

fs::path world_folder(const fs::path& state_directory) {
  return state_directory / "world";
}

fs::path world_socket_broker(const fs::path& folder) {
  return folder.string() + std::string(kWorldBroker);
}

std::optional<RootlessWorld> RootlessWorld::find(const fs::path& folder) {
  UniqueFd connection = connect_to_broker(world_socket_broker(folder));
  if (!connection || !receive_socket(connection)) return std::nullopt;
  UniqueFd process = process_behind(connection);
  if (!process) return std::nullopt;
  return RootlessWorld(std::move(connection), std::move(process));
}

RootlessWorld RootlessWorld::open(const fs::path& folder, const fs::path& init_program) {
  const auto end = steady_clock::now() + kWorldLimit;
  for (;;) {
    if (auto world = find(folder)) return std::move(*world);
    const RootlessFacts facts = look_at_machine();
    if (const auto in_the_way = obstacles(facts); !in_the_way.empty())
      throw refusal_of(facts, in_the_way);
    if (steady_clock::now() > end)
      throw Error(ErrorKind::transient,
                  "the world in " + folder.string() + " neither answers nor ends: try again");
    start_world(folder, init_program, facts);
    std::this_thread::sleep_for(5ms);  // Another one may be starting, or ending.
  }
}

RootlessWorld::~RootlessWorld() {
  if (!connection_) return;
  ::shutdown(connection_.get(), SHUT_WR);
  receive_socket(connection_);
}

}  // namespace fastgpu::provision::local
