// Text in HTML, and plots as pictures that need no other file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns `text` escaped as the content of an element or of a quoted attribute. Control
/// characters, marks of text direction and invalid UTF-8 become '?'.
std::string html_text(std::string_view text);

struct Point {
  double x = 0;
  double y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
  std::function<std::string(double)> x_text;  ///< Returns the label for a value, with its unit.
  std::function<std::string(double)> y_text;
};

/// Returns a figure with two logarithmic axes, as well-formed XML to be styled by plot_style().
/// Ignores points that are not above 0. Returns "" if no point is left.
std::string plot_figure(const Plot& plot);

/// Returns the style rules for plot_figure(), for light and dark screens.
std::string_view plot_style() noexcept;

}  // namespace fastgpu::cli
