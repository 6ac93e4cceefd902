#include "envs/environments/build_copy.hpp"

namespace fastgpu::envs {

void relay_build(const NodeAccess& access, const ssh::Host& from, const remote::NodeRoute& route,
                 std::span<const std::size_t> to, const BuildCopy& what) try {
  NodeCall call{.words = {"relay", "--from", what.directory.string(), "--to",
                          what.directory.string(), "--config", route.config, "--build", "--"}};
  for (const std::size_t node : to)
    call.words.push_back(route.names[node]);
  call_node(access, from, call, {});
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  // Otherwise the nodes are looked at, and get it in another way.
}

std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what) {
  const remote::CopyOptions options{.width = access.options.width,
                                    .connect_timeout = access.options.connect_timeout};
  const auto here = what.scratch / "build";
  const auto taken = remote::copy_from(access.client, {&from, 1}, {what.directory.string()}, here,
                                       access.agent, options, nullptr, access.cancel);
  if (!taken[0].ok()) throw Error(taken[0].error());
  return remote::copy_to(access.client, to, {here}, what.directory.string(), access.agent, options,
                         nullptr, access.cancel);
}

}  // namespace fastgpu::envs
