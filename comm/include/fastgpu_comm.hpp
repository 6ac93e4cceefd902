// libfastgpu_comm for C++20: the C ABI with ownership, exceptions and spans, and nothing more.
// What a call does, fastgpu_comm.h says; `get()` gives the C handle for what is not here.
#pragma once

#include "fastgpu_comm/communicator.hpp"
#include "fastgpu_comm/gradients.hpp"
#include "fastgpu_comm/handles.hpp"
#include "fastgpu_comm/on_device.hpp"
