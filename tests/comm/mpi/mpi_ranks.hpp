// What a rank under mpirun does once it has joined: a little of everything, with known results.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join.hpp"

namespace fastgpu::comm::test {

inline Communicator join_job() {
  return Communicator(join(job_place(process_environment())));
}

inline void expect(bool is_so, const std::string& what) {
  if (!is_so) throw Error(ErrorKind::internal, what);
}

/// The ranks are there, and are those that MPI counts.
inline void check_sum(Communicator& comm) {
  std::int32_t sum = comm.rank().value + 1;
  comm.all_reduce(std::span(&sum, 1), ReduceOp::sum);
  expect(sum == comm.size() * (comm.size() + 1) / 2, "the sum is " + std::to_string(sum));
}

/// The exit status of a program that does `body`.
template <class Body>
int status_of(const Body& body) try {
  body();
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

}  // namespace fastgpu::comm::test
