// `env-solve`: finds the packages for a recipe on this node. Installs nothing.
#include <chrono>
#include <optional>

#include "agent/environments/builder.hpp"
#include "agent/environments/environment_call.hpp"
#include "agent/environments/node.hpp"
#include "agent/environments/place.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

/// Waits until an interrupted build has ended, because it cleans up the cache that is used here,
/// too. A running build does not change the cache.
std::optional<UniqueFd> wait_for_a_build_to_end(const EnvironmentPlaces& places) try {
  return lock_prefix(places, 5s);
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

int run_env_solve(Arguments) {
  return run_call([] {
    const SolveRequest request = parse_solve_request(read_request());
    Listener listener;
    const EnvironmentPlaces places{request.prefix};
    const auto lock = wait_for_a_build_to_end(places);
    SolveAnswer answer =
        package_builder(request.builder, places.own() / "cache")->solve(request, listener);
    answer.machine = machine_name();
    answer.libc = libc_name();
    write_answer(to_records(answer));
  });
}

}  // namespace fastgpu::agent
