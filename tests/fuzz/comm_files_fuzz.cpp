// Reads the files of ranks before they train: an invitation by MPI, what tuning has kept, images,
// the states of a set of gradients and of multistep training, and its mode.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attempt.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/examples/fashion/idx.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/fusion/seal.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "comm/gradients/tuner_cache.hpp"
#include "comm/multistep/multistep_settings.hpp"
#include "comm/multistep/saved_state.hpp"
#include "comm/rendezvous/invitation.hpp"

namespace comm = fastgpu::comm;

namespace {

void decode_invitation(std::span<const std::byte> bytes) try {
  comm::InvitationBytes invitation{};
  std::ranges::copy(bytes.first(std::min(bytes.size(), invitation.size())), invitation.begin());
  const comm::Invitation found = comm::decode_invitation(invitation);
  if (comm::decode_invitation(comm::encode(found)).points.size() != found.points.size())
    __builtin_trap();
} catch (const fastgpu::Error&) {
}

void load_setting(std::span<const std::uint8_t> bytes) {
  const fastgpu::UniqueFd file(::memfd_create("setting", MFD_CLOEXEC));
  if (!file ||
      ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    __builtin_trap();
  const auto setting = comm::load_setting("/proc/self/fd/" + std::to_string(file.get()));
  if (setting && !comm::is_possible(*setting)) __builtin_trap();
}

void decode_images(std::span<const std::uint8_t> bytes) {
  for (const std::size_t dimensions : {std::size_t{1}, std::size_t{3}})
    try {
      const fashion::Idx idx = fashion::decode_idx(bytes, dimensions, "images");
      std::size_t values = 1;
      for (const std::size_t length : idx.lengths)
        values *= length;
      if (idx.lengths.size() != dimensions || values != idx.values.size()) __builtin_trap();
    } catch (const std::runtime_error&) {
    }
}

/// Few inputs have a right seal by chance, so that each is tried with one, too.
void decode_gradients(std::span<const std::byte> bytes) {
  comm::GradientTable table;
  table.add({.name = "a", .shape = {1}});
  table.add({.name = "b", .shape = {1}});
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  if (sealed.size() >= comm::kSealBytes) comm::seal(sealed);
  for (const std::span<const std::byte> each : {bytes, std::span<const std::byte>(sealed)})
    fastgpu::fuzz::attempt<fastgpu::ErrorKind::usage>([&] {
      const comm::SavedGradients state = comm::decode_gradients(each);
      const std::vector<std::byte> again = comm::encode(state);
      const comm::SavedGradients same = comm::decode_gradients(again);
      if (same.order != state.order || !std::ranges::equal(same.codec, state.codec))
        __builtin_trap();
      const auto order = comm::order_of_names(table, state.order);
      if (order && order->size() != table.size()) __builtin_trap();
    });
}

void decode_multistep(std::span<const std::byte> bytes) {
  fastgpu::fuzz::attempt<fastgpu::ErrorKind::usage>([&] {
    const comm::SavedMultistep state = comm::decode_multistep(bytes);
    if (comm::decode_multistep(comm::encode(state)).tensors != state.tensors) __builtin_trap();
  });
  fastgpu::fuzz::attempt<fastgpu::ErrorKind::usage>([&] {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const comm::MultistepSettings settings = comm::multistep_settings(text);
    if (comm::multistep_settings(comm::to_string(settings)) != settings) __builtin_trap();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  decode_invitation(std::as_bytes(bytes));
  load_setting(bytes);
  decode_images(bytes);
  decode_gradients(std::as_bytes(bytes));
  decode_multistep(std::as_bytes(bytes));
  return 0;
}
