// A library of collectives as it is measured: ours, and those that it is compared with.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// Calls are collective, and block.
class Library {
 public:
  virtual ~Library() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Throws ErrorKind::usage where the library cannot carry out such a call.
  virtual void check_has(const Call& call) const = 0;
  virtual void run(const Call& call) = 0;
  virtual void barrier() = 0;

  /// The greatest of all ranks' numbers.
  virtual double greatest(double number) = 0;

  /// Memory for data; each call takes the place of the one before.
  virtual std::span<std::byte> memory(std::size_t bytes) {
    memory_.assign(bytes, std::byte{0});
    return memory_;
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace fastgpu::comm::bench
