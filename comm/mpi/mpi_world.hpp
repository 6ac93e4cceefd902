// This process among those that mpirun has started: the ranks of a job in MPI's numbering.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/rank.hpp"
#include "comm/mpi/mpi_library.hpp"

namespace fastgpu::comm::mpi {

struct Member {
  Rank rank{};
  int size = 1;
  std::string plugin{};  ///< Empty: the usual place.
};

/// MPI's world. One thread at a time. Not to be used after MPI_Finalize; may be destroyed at any
/// time.
class MpiWorld {
 public:
  /// Joins, all ranks at once. Initialises MPI unless the program has; the side that initialised it
  /// also finalises it. Throws ErrorKind::usage if MPI numbers ranks differently, is over, or is
  /// not for this thread; ErrorKind::timeout if a rank does not come; and as Library does.
  MpiWorld(const Member& me, Deadline deadline);

  const MpiPlugin& library() const noexcept { return library_; }
  Group* everybody() const noexcept { return everybody_; }

  /// Throws ErrorKind::usage unless any thread may call MPI at any time.
  void need_threads(std::string_view for_what) const;

  /// Copies rank 0's `bytes` to all. Throws ErrorKind::timeout.
  void broadcast(std::span<std::byte> bytes, Deadline deadline) const;

 private:
  Error refusal(const std::string& why) const;
  bool ends_in_time(Request* request, Deadline deadline, std::string_view doing) const;

  MpiPlugin library_;
  Rank rank_;
  Start start_{};
  Group* everybody_ = nullptr;
};

}  // namespace fastgpu::comm::mpi
