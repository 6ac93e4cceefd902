// The variable by which JAX finds its coordinator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::agent {

/// The variable by which JAX knows that Open MPI has started it
/// (jax/_src/clusters/ompi_cluster.py). Open MPI 4 sets it; Open MPI 5, which has another runtime,
/// does not.
inline constexpr const char* kOpenMpiUri = "OMPI_MCA_orte_hnp_uri";

/// Returns the value of that variable for ranks whose first one is at `address`, of IPv4 or IPv6:
/// "81920000.0;tcp://10.0.0.1:29500". JAX takes the address, and derives the port of its
/// coordinator from the number before the point: 61440 + `port` modulo 4096, above the ports that
/// the kernel gives to others.
std::string open_mpi_uri(const std::string& address, std::uint16_t port);

/// Returns the assignment of that variable for a rank with this environment; absent where JAX needs
/// none: Open MPI has not started the rank, or the variable is set.
std::optional<std::string> jax_variable(const std::vector<std::string>& environment);

}  // namespace fastgpu::agent
