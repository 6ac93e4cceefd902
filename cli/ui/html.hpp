// Text inside of HTML, and curves as pictures that need only the page that they are in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns `text` as the content of an element or of a quoted attribute. Control characters, marks
/// that change the direction of text and broken bytes become '?'.
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
  std::function<std::string(double)> x_text;  ///< Returns the label at a value, unit included.
  std::function<std::string(double)> y_text;
};

/// Returns a figure with both axes logarithmic, well-formed as XML, styled by plot_style(). Points
/// that are not above 0 are left out; "" if no point is left.
std::string plot_figure(const Plot& plot);

/// Returns the rules that plot_figure needs, for light and for dark screens.
std::string_view plot_style() noexcept;

}  // namespace fastgpu::cli
