// A measured library of collectives: ours, or one to compare it with.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// A library. Calls are collective, and block.
class BenchLibrary {
 public:
  virtual ~BenchLibrary() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Throws ErrorKind::usage if the library cannot carry out such a call.
  virtual void check_has(const BenchCall& call) const = 0;
  virtual void run(const BenchCall& call) = 0;
  virtual void barrier() = 0;

  /// Returns the greatest of all ranks' numbers.
  virtual double greatest(double number) = 0;

  /// Returns memory for data; each call replaces the memory of the one before.
  virtual std::span<std::byte> memory(std::size_t bytes) {
    memory_.assign(bytes, std::byte{0});
    return memory_;
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace fastgpu::comm::bench
