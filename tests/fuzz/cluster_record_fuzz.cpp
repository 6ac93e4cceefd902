// What a head node says of its cluster, and of who may change it.
#include <cstddef>
#include <cstdint>

#include "agent/protocol/lease.hpp"
#include "attempt.hpp"
#include "provision/cluster_record.hpp"

using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const auto record = fastgpu::provision::parse_cluster_record(text);
    // What was read is written and read as the same.
    const std::string again = to_text(record);
    if (to_text(fastgpu::provision::parse_cluster_record(again)) != again) __builtin_trap();
    static_cast<void>(record.cluster.cloud());
    static_cast<void>(record.cluster.placement());
  });
  attempt([&] { fastgpu::agent::parse_lease_book(text); });
  attempt([&] { fastgpu::agent::parse_lease_answer(text); });
  return 0;
}
