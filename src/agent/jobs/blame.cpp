#include "agent/jobs/blame.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/numbers.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

std::optional<int> blamed_rank(std::string_view text, const PlaceInJob& place) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 3) return std::nullopt;
  const auto rank = to_number<int>(words[0]);
  const auto size = to_number<int>(words[1]);
  const auto blamed = to_number<int>(words[2]);
  if (rank != place.rank || size != place.size || !blamed) return std::nullopt;
  const bool is_other_rank = *blamed >= 0 && *blamed < place.size && *blamed != place.rank;
  return is_other_rank ? blamed : std::nullopt;
}

std::optional<int> read_blame(const std::filesystem::path& file, const PlaceInJob& place) noexcept
    try {
  // The program may have put anything there: a pipe is not waited for, and a link is not followed.
  const UniqueFd in(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!in) return std::nullopt;
  std::array<char, 64> text;
  const ssize_t got = ::read(in.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  return blamed_rank({text.data(), static_cast<std::size_t>(got)}, place);
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace fastgpu::agent
