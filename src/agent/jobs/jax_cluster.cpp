#include "agent/jobs/jax_cluster.hpp"

#include "base/numbers.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

std::string open_mpi_uri(const std::string& address, std::uint16_t port) {
  constexpr unsigned kNumbers = 4096;  // JAX divides by it, and takes the rest of a division by it.
  const unsigned number = (port % kNumbers) * kNumbers;
  const bool is_ipv6 = address.find(':') != address.npos;
  return std::to_string(number) + ".0;" +
         (is_ipv6 ? "tcp6://[" + address + "]" : "tcp://" + address) + ":" + std::to_string(port);
}

std::optional<std::string> jax_variable(const std::vector<std::string>& environment) {
  const bool is_by_open_mpi = process::variable(environment, "OMPI_COMM_WORLD_SIZE").has_value();
  if (!is_by_open_mpi || process::variable(environment, kOpenMpiUri)) return std::nullopt;
  const auto address = process::variable(environment, "MASTER_ADDR");
  const auto port =
      to_number<std::uint16_t>(process::variable(environment, "MASTER_PORT").value_or(""));
  if (!address || !port) return std::nullopt;
  return std::string(kOpenMpiUri) + "=" + open_mpi_uri(*address, *port);
}

}  // namespace fastgpu::agent
