// The transports that bench comm compares: the variables that make ranks use one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

enum class BenchTransport : std::uint8_t {
  fabric,  ///< RDMA, or the provider of libfabric that the user names.
  tcp,     ///< TCP over one network.
  hybrid   ///< A fabric and TCP at once, or TCP over all interfaces that the user lists.
};
constexpr BenchTransport kBenchTransports[] = {BenchTransport::fabric, BenchTransport::tcp,
                                               BenchTransport::hybrid};

std::string_view name_of(BenchTransport transport) noexcept;

/// Parses "tcp" or "fabric,tcp,hybrid"; empty for empty text. Throws ErrorKind::usage with the list
/// for another word, and for one that is there twice.
std::vector<BenchTransport> parse_transports(std::string_view text);

/// Returns whether a fabric is to carry messages, alone or beside TCP. `environment` are the user's
/// variables, as NAME=VALUE.
bool uses_fabric(BenchTransport transport, const std::vector<std::string>& environment);

/// Returns `environment`, the variables of the ranks as NAME=VALUE, with those that make the ranks
/// use the transport. Throws ErrorKind::usage if these variables contradict it.
std::vector<std::string> variables_for(BenchTransport transport,
                                       const std::vector<std::string>& environment);

/// Returns the sentence for a transport that needs a fabric that is missing, with the remedies.
/// `reason` begins with `own_wish`, which --transport has set, and not the user.
std::string lack_of_fabric(BenchTransport transport, std::string_view reason,
                           std::string_view own_wish);

}  // namespace fastgpu::cli
