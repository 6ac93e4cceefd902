#include "cli/ui/styled.hpp"

#include <utility>

#include "base/utf8.hpp"

namespace fastgpu::cli {

Styled::Styled(std::string plain)
    : text_(needs_escape(plain) ? escaped(plain, Layout::kept) : std::move(plain)) {}

Styled Styled::painted(std::string_view plain, Color color, bool colored) {
  Styled out;
  out.add_painted(plain, color, colored);
  return out;
}

void Styled::add_painted(std::string_view plain, Color color, bool colored) {
  const bool is_painted = colored && color != Color::none;
  if (is_painted) text_ += escape(color);
  *this += plain;
  if (is_painted) text_ += kColorEnd;
}

void Styled::add_blanks(std::size_t count) {
  text_.append(count, ' ');
}

Styled& Styled::operator+=(const Styled& more) {
  text_ += more.text_;
  return *this;
}

Styled& Styled::operator+=(std::string_view plain) {
  if (needs_escape(plain))
    text_ += escaped(plain, Layout::kept);
  else
    text_ += plain;
  return *this;
}

Styled Styled::indented(std::size_t blanks) const {
  Styled out;
  bool begins = true;
  for (const char c : text_) {
    if (begins) out.text_.append(blanks, ' ');
    out.text_ += c;
    begins = c == '\n';
  }
  return out;
}

}  // namespace fastgpu::cli
