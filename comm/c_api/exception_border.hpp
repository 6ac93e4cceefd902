// The border of C++: exceptions become statuses, and their sentences are kept for fgc_last_error.
#pragma once

#include <exception>
#include <new>

#include "base/error.hpp"
#include "comm/include/fastgpu_comm.h"

namespace fastgpu::comm::c_api {

fgc_status status_of(ErrorKind kind) noexcept;

/// Sets the result of fgc_last_error for this thread.
fgc_status fail(fgc_status status, const char* sentence) noexcept;
const char* last_sentence() noexcept;

/// Returns FGC_OK, or the status of the exception that `action` has thrown.
template <class Action>
fgc_status guarded(Action action) noexcept {
  try {
    action();
    return FGC_OK;
  } catch (const Error& e) {
    return fail(status_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return fail(FGC_LOCAL, "out of memory");
  } catch (const std::exception& e) {
    return fail(FGC_INTERNAL, e.what());
  } catch (...) {
    return fail(FGC_INTERNAL, "an unknown exception");
  }
}

}  // namespace fastgpu::comm::c_api
