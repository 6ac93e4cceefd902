// Frames that arrive damaged.
#pragma once

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::test {

/// Feeds a new `Seen::decoder` in each of many rounds: with random bytes, or with `good`, of which
/// two bytes are damaged, to reach behind the first check. Checks that each round ends in
/// ErrorKind::remote or in waiting for more, and calls `check` with the Seen.
template <class Seen, class Check>
void feed_damaged_frames(const std::string& good, Check check) {
  constexpr std::size_t kStep = 7;
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const bool begins_well = round % 2 == 0;
    std::string text = begins_well ? good : std::string(64, 0);
    for (int i = 0; i < (begins_well ? 2 : 64); ++i)
      text[random() % text.size()] = static_cast<char>(random());
    Seen seen;
    try {
      for (std::size_t at = 0; at < text.size(); at += kStep)
        seen.decoder.feed(std::string_view(text).substr(at, kStep));
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::remote);
    }
    check(seen);
  }
}

}  // namespace fastgpu::test
