#include "remote/agent.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/quote.hpp"
#include "base/unique_fd.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::remote {
namespace {

constexpr std::size_t kPiece = 256UL * 1024;
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kMostSaid = 4096;

/// The exit statuses of the install script, one for each kind of failure.
enum InstallStatus : int {
  home_not_writable = 11,
  not_stored = 12,
  no_sha256sum = 13,
  damaged = 14,
  other_processor = 15,  ///< The stderr has the name of the processor.
  not_started = 16,
  no_programs = 17  ///< The stderr has the name of the program that PATH lacks, and PATH.
};

/// A mapped file, so that all uploads read the same pages.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file) {
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0)
      throw system_error("reading the agent " + file.string(), errno);
    size_ = static_cast<std::size_t>(info.st_size);
    if (size_ == 0) throw Error(ErrorKind::local, "the agent " + file.string() + " is empty");
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data_ == MAP_FAILED) throw system_error("reading the agent " + file.string(), errno);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { ::munmap(data_, size_); }

  std::string_view bytes() const noexcept { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::string name_on_host(const AgentHash& hash) {
  return "fastgpu-agent-" + hash.value;
}

/// Returns the complaint of a host without the agent, by which agent_missing() recognizes it.
std::string missing_text(const AgentHash& hash) {
  return name_on_host(hash) +
         " is missing or empty: this version of fastgpu has started nothing "
         "here";
}

MachineName this_machine() {
  struct utsname names {};
  ::uname(&names);
  return {names.machine};
}

/// Installs the program from standard input. If the connection breaks, the checksum is wrong and
/// nothing is installed. If programs cannot be run from the file system of the home directory, the
/// program goes into another directory that only this user can access, and a link leads there.
constexpr const char* kInstall =
#include "templates/nodes/install_agent.inc"
    ;

std::string install_script(const AgentHash& hash, const std::string& sha256,
                           const MachineName& machine) {
  return "for p in uname mkdir chmod cat mv rm; do command -v $p >/dev/null || { "
         "echo \"$p (PATH=$PATH)\" >&2; exit 17; }; done\n"
         "m=$(uname -m) && { test \"$m\" = " +
         shell_quote(machine.value) + " || { echo \"$m\" >&2; exit 15; }; }\nsum=" + sha256 +
         "; name=" + name_on_host(hash) + "\n" + kInstall;
}

/// Returns the error for an exit `status` of the script, with its stderr.
Error install_error(int status, std::string_view said) {
  const auto with = [&](ErrorKind kind, const std::string& text) {
    constexpr std::size_t kLongestReason = 300;
    std::string shown = printable(said.substr(0, said.find('\n')), kLongestReason);
    return Error(kind, "installing the agent: " + text + (said.empty() ? "" : ": " + shown));
  };
  const bool full = said.find("No space left") != said.npos || said.find("quota") != said.npos;
  switch (status) {
    case home_not_writable:
      return with(full ? ErrorKind::capacity : ErrorKind::denied,
                  "the home directory cannot be written");
    case not_stored:
      return with(full ? ErrorKind::capacity : ErrorKind::remote, "it cannot be stored");
    case no_sha256sum:
      return with(ErrorKind::remote, "sha256sum is missing");
    case damaged:
      return with(ErrorKind::transient, "it arrived damaged");
    case no_programs:
      return with(ErrorKind::remote,
                  "PATH, as ~/.bashrc or another file of the login sets it, lacks programs of the "
                  "system");
    case not_started:
      return with(ErrorKind::denied,
                  "neither the home directory nor /var/tmp, $XDG_RUNTIME_DIR, /opt or /tmp lets it "
                  "start: are they mounted noexec?");
    default:
      return with(ErrorKind::remote, "the shell ended with " + std::to_string(status));
  }
}

std::function<std::optional<std::string>()> pieces_of(std::shared_ptr<const MappedFile> file) {
  return [file = std::move(file), at = std::size_t{0}]() mutable -> std::optional<std::string> {
    const std::string_view rest = file->bytes().substr(at);
    if (rest.empty()) return std::nullopt;
    const std::string_view piece = rest.substr(0, kPiece);
    at += piece.size();
    return std::string(piece);
  };
}

HostResult<AgentInstalled> installed(const HostResult<ssh::Exit>& ended, const std::string& said) {
  if (!ended.ok()) return {ended.host, ended.error()};
  if (ended.value().code() == 0) return {ended.host, AgentInstalled{}};
  return {ended.host, install_error(ended.value().code(), said).during(ended.host.value)};
}

/// The result of one host, and its error output.
struct Attempt {
  HostResult<ssh::Exit> ended;
  std::string said;

  /// Returns the host's processor if the program was built for another one; otherwise absent.
  std::optional<MachineName> processor() const {
    if (!ended.ok() || ended.value().code() != other_processor) return std::nullopt;
    return MachineName{said.substr(0, said.find('\n'))};
  }
};

/// Installs one program on some hosts, all at once.
std::vector<Attempt> put(ssh::Client& client, std::span<const ssh::Host> hosts,
                         const std::filesystem::path& program, const AgentHash& hash,
                         const MachineName& machine, const ssh::RunOptions& options,
                         const Cancel& cancel) {
  // Shared by the uploads, which end in any order.
  const auto file = std::make_shared<const MappedFile>(program);
  const std::string script = install_script(hash, transfer::sha256_hex(file->bytes()), machine);
  std::vector<std::string> said(hosts.size());
  std::vector<ssh::Task> tasks;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    tasks.push_back({.host = hosts[i],
                     .command = script,
                     .on_stderr =
                         [&text = said[i]](std::string_view piece) {
                           text += piece.substr(0, kMostSaid - std::min(text.size(), kMostSaid));
                         },
                     .next_input = pieces_of(file)});
  auto ended = client.run(std::move(tasks), options, cancel);
  std::vector<Attempt> attempts;
  for (std::size_t i = 0; i < ended.size(); ++i)
    attempts.push_back({std::move(ended[i]), std::move(said[i])});
  return attempts;
}

Error no_program_for(const MachineName& processor, const AgentProgram& agent) {
  std::string there = this_machine().value;
  for (const auto& [machine, file] : agent.others)
    there += " and " + machine.value;
  return Error(ErrorKind::remote, "its processor is " + printable(processor.value) +
                                      ", and fastgpu was installed with agents for " + there +
                                      ": see docs/hacking.md for how to build another");
}

}  // namespace

AgentProgram read_agent_program(const std::filesystem::path& file, AgentFiles others) {
  std::string sums = transfer::sha256_hex(MappedFile(file).bytes());
  for (const auto& [machine, other] : others)
    sums += transfer::sha256_hex(MappedFile(other).bytes());
  if (!others.empty()) sums = transfer::sha256_hex(sums);
  return {file, {sums.substr(0, kHashDigits)}, std::move(others)};
}

std::string agent_path(const AgentHash& hash) {
  return ".fastgpu/bin/" + name_on_host(hash);
}

std::string agent_command(const AgentHash& hash, std::span<const std::string> arguments) {
  const std::string path = "~/" + agent_path(hash);
  // A shell would run an empty file as a script that does nothing, with success.
  std::string command = "test -s " + path + " && exec " + path;
  if (!arguments.empty()) command += " " + shell_join(arguments);
  return command + " || exec /bin/sh -c " +
         shell_quote("echo \"" + missing_text(hash) + "\" >&2; exit 127");
}

std::string agent_command_by(std::span<const std::string> starter, const AgentHash& hash,
                             std::span<const std::string> arguments) {
  // If the program is missing, sudo itself would exit with 1, while a shell reports which program
  // is missing. The login shell expands the path, because the starter may switch to a user with
  // another home directory.
  const std::string start =
      "test -s \"$0\" && exec \"$0\" \"$@\"; echo \"" + missing_text(hash) + "\" >&2; exit 127";
  std::vector<std::string> words = {"exec"};
  words.insert(words.end(), starter.begin(), starter.end());
  words.insert(words.end(), {"/bin/sh", "-c", start});
  std::string command = shell_join(words) + " ~/" + agent_path(hash);
  if (!arguments.empty()) command += " " + shell_join(arguments);
  return command;
}

bool agent_missing(const AgentHash& hash, const ssh::Exit& exit, std::string_view error_output) {
  const bool not_run = exit.code() == 127 || exit.code() == 126;
  return not_run && error_output.find(name_on_host(hash)) != error_output.npos;
}

std::vector<HostResult<AgentInstalled>> install_agent(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const AgentProgram& program,
                                                      const ssh::RunOptions& options,
                                                      const Cancel& cancel) {
  std::vector<Attempt> attempts =
      put(client, hosts, program.file, program.hash, this_machine(), options, cancel);
  for (const auto& [machine, file] : program.others) {
    std::vector<std::size_t> which;
    std::vector<ssh::Host> those;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (attempts[i].processor() != machine) continue;
      which.push_back(i);
      those.push_back(hosts[i]);
    }
    auto again = put(client, those, file, program.hash, machine, options, cancel);
    for (std::size_t at = 0; at < which.size(); ++at)
      attempts[which[at]] = std::move(again[at]);
  }
  std::vector<HostResult<AgentInstalled>> results;
  for (const Attempt& attempt : attempts) {
    const auto processor = attempt.processor();
    if (processor)
      results.push_back({attempt.ended.host,
                         no_program_for(*processor, program).during(attempt.ended.host.value)});
    else
      results.push_back(installed(attempt.ended, attempt.said));
  }
  return results;
}

}  // namespace fastgpu::remote
