#include "cli/workflows/private_agent.hpp"

#include <poll.h>
#include <stdlib.h>

#include <cerrno>
#include <sstream>

#include "base/file_status.hpp"
#include "base/files.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;

/// Creates a directory for the socket, whose path must be short.
std::filesystem::path make_directory(const state::Environment& environment) {
  const std::string parent = environment("XDG_RUNTIME_DIR").value_or("/tmp");
  std::string pattern = parent + "/fastgpu-agent-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr)
    throw system_error("making a directory in " + parent, errno);
  return pattern;
}

/// Returns the type and the key, "ssh-ed25519 AAAA...", in a line of a public key file; "" without
/// a key.
std::string key_in(const std::string& line) {
  std::istringstream words(line);
  std::string type;
  std::string key;
  words >> type >> key;
  return key.empty() ? "" : type + " " + key;
}

}  // namespace

bool agent_has(Services& services, const std::filesystem::path& identity) {
  if (!services.environment()("SSH_AUTH_SOCK")) return false;
  const std::string wanted = key_in(first_line_of(identity.string() + ".pub"));
  if (wanted.empty()) return false;
  try {
    const auto listed = process::capture({.argv = {"ssh-add", "-L"}}, {}, services.cancel());
    std::istringstream lines(listed.out);
    for (std::string line; std::getline(lines, line);)
      if (key_in(line) == wanted) return true;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
  }
  return false;
}

struct PrivateAgent::Running {
  std::filesystem::path directory;
  std::optional<process::Child> child{};
};

PrivateAgent::PrivateAgent(Services& services)
    : services_(services),
      running_(new Running{.directory = make_directory(services.environment())}) {
  const process::Command command{.argv = {"ssh-agent", "-D", "-a", socket().string()},
                                 .in = {.mode = process::StreamMode::null},
                                 .out = {.mode = process::StreamMode::null},
                                 .err = {.mode = process::StreamMode::null},
                                 .grouping = process::Grouping::group,
                                 .on_parent_death = process::OnParentDeath::kill};
  try {
    running_->child.emplace(command);
    for (int i = 0; i < 500 && !path_exists(socket()); ++i) {
      if (running_->child->wait_for(10ms, nullptr))
        throw Error(ErrorKind::local, "ssh-agent does not start");
      services.cancel().check();
    }
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(running_->directory, ignored);
    throw;
  }
}

PrivateAgent::~PrivateAgent() {
  running_->child.reset();
  std::error_code ignored;
  std::filesystem::remove_all(running_->directory, ignored);
}

std::filesystem::path PrivateAgent::socket() const {
  return running_->directory / "socket";
}

void PrivateAgent::add(std::span<const std::string> identities) {
  services_.messages().end_progress();
  auto environment = process::current_environment();
  process::set_variable(environment, "SSH_AUTH_SOCK=" + socket().string());
  process::Command command{.argv = {"ssh-add", "-q"}, .environment = std::move(environment)};
  command.argv.insert(command.argv.end(), identities.begin(), identities.end());
  process::Child child(command);
  std::optional<process::ExitStatus> ended;
  while (!ended) {
    ended = child.wait_for(1h, &services_.cancel());
    services_.cancel().check();
  }
  if (!ended->ok())
    throw Error(ErrorKind::denied, "a key is not unlocked: ssh-add " + process::describe(*ended));
}

}  // namespace fastgpu::cli
