// `env-pack`: sends a build of an environment as a tar archive. It is compressed here, because the
// node may have no zstd.
#include <unistd.h>

#include "agent/files/disk.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"
#include "process/child.hpp"
#include "transfer/packing.hpp"

namespace fastgpu::agent {

int run_env_pack(Arguments arguments) {
  if (arguments.size() != 2) throw Error(ErrorKind::usage, "env-pack takes a folder and a name");
  process::Command command{.argv = {"tar", "-C", arguments[0], "-cf", "-", arguments[1]}};
  command.out.mode = process::StreamMode::pipe;
  command.on_parent_death = process::OnParentDeath::kill;
  process::Child tar(command);
  transfer::pack_all(tar.out().get(),
                     [](std::string_view piece) { write_all(STDOUT_FILENO, piece); });
  const process::ExitStatus ended = tar.wait();
  if (!ended.ok()) throw Error(ErrorKind::local, "tar: " + describe(ended));
  return 0;
}

}  // namespace fastgpu::agent
