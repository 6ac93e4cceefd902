#include "comm/communicator/broadcast_message.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fastgpu::comm {
namespace {

using Words = std::array<char, 256>;  ///< Ends with at least one 0.

Words words_of(std::string_view text) {
  Words words{};
  std::ranges::copy(text.substr(0, words.size() - 1), words.begin());
  return words;
}

}  // namespace

std::string in_words_of(Communicator& communicator, Rank speaker, const std::string& own) {
  Words words{};
  if (communicator.rank() == speaker) words = words_of(own);
  communicator.broadcast(std::as_writable_bytes(std::span(words)), speaker);
  words.back() = 0;
  std::string text = words.data();
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // Safe on a terminal.
  return text;
}

}  // namespace fastgpu::comm
