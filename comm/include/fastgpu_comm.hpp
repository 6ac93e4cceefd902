// libfastgpu_comm for C++20: the C ABI with ownership, exceptions and spans, and nothing more. The
// calls are described in fastgpu_comm.h; `get()` gives the C handle for features that are missing
// here.
#pragma once

#include "fastgpu_comm/communicator.hpp"
#include "fastgpu_comm/gossip.hpp"
#include "fastgpu_comm/gradients.hpp"
#include "fastgpu_comm/handles.hpp"
#include "fastgpu_comm/multistep.hpp"
#include "fastgpu_comm/on_device.hpp"
