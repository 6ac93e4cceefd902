// `env-solve`: which packages a recipe comes to on this node. Installs nothing.
#include "agent/environments/builder.hpp"
#include "agent/environments/call.hpp"
#include "agent/environments/node.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {

int run_env_solve(Arguments) {
  return run_call([] {
    const SolveRequest request = parse_solve_request(read_request());
    Listener listener;
    const auto cache = EnvironmentPlaces{request.prefix}.own() / "cache";
    SolveAnswer answer = package_builder(request.builder, cache)->solve(request, listener);
    answer.machine = machine_name();
    answer.libc = libc_name();
    write_answer(to_records(answer));
  });
}

}  // namespace fastgpu::agent
