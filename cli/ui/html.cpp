#include "cli/ui/html.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/join.hpp"
#include "base/utf8.hpp"

namespace fastgpu::cli {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 360;
constexpr double kLeft = 76;
constexpr double kRight = 40;   ///< Room for one half of the last label.
constexpr double kTop = 32;     ///< Room for the title of the vertical axis.
constexpr double kBottom = 56;  ///< Room for the labels and the title of the horizontal axis.
constexpr double kFuzz = 1e-9;
constexpr std::size_t kColors = 8;  ///< The number of colours in plot_style().

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

/// Maps values to positions on one axis.
struct Axis {
  double least = 0;  ///< A logarithm to base 2, and so is `most`.
  double most = 0;
  double from = 0;  ///< Measured in units of the picture, and so is `to`.
  double to = 0;

  double place(double value) const {
    const double part = most > least ? (std::log2(value) - least) / (most - least) : 0.5;
    return from + part * (to - from);
  }
};

std::vector<Curve> drawable(const std::vector<Curve>& curves) {
  std::vector<Curve> out;
  for (const Curve& curve : curves) {
    out.push_back({curve.name, {}});
    for (const Point& point : curve.points)
      if (point.x > 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y))
        out.back().points.push_back(point);
    if (out.back().points.empty()) out.pop_back();
  }
  return out;
}

template <class Value>
Axis axis_of(const std::vector<Curve>& curves, double from, double to, Value value) {
  Axis axis{.least = 1e300, .most = -1e300, .from = from, .to = to};
  for (const Curve& curve : curves)
    for (const Point& point : curve.points) {
      axis.least = std::min(axis.least, std::log2(value(point)));
      axis.most = std::max(axis.most, std::log2(value(point)));
    }
  return axis;
}

/// Returns the ticks of the horizontal axis: powers of 2, about ten at most.
std::vector<double> x_ticks(const Axis& axis) {
  const int first = static_cast<int>(std::ceil(axis.least - kFuzz));
  const int last = static_cast<int>(std::floor(axis.most + kFuzz));
  const int step = std::max(1, (last - first + 9) / 10);
  std::vector<double> ticks;
  for (int power = first; power <= last; power += step)
    ticks.push_back(std::exp2(power));
  return ticks;
}

/// Returns the largest number of the form 1, 2 or 5 times a power of 10 that is at most `value`.
double round_below(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  const double times = value / power;
  return (times >= 5 ? 5 : times >= 2 ? 2 : 1) * power;
}

/// Returns the smallest such number above `value`.
double round_above(double value) {
  const double below = round_below(value);
  const double power = std::pow(10.0, std::floor(std::log10(below) + kFuzz));
  return (below / power < 1.5 ? 2 : below / power < 3 ? 5 : 10) * power;
}

/// Extends the axis to round numbers, so that there is a tick at each end.
Axis rounded(Axis axis) {
  axis.least = std::log2(round_below(std::exp2(axis.least)));
  axis.most = std::log2(round_above(std::exp2(axis.most)));
  return axis;
}

/// Returns the ticks of the vertical axis: powers of 10, and 2 and 5 times them if there is room.
std::vector<double> y_ticks(const Axis& axis) {
  const double decades = (axis.most - axis.least) / std::log2(10.0);
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(axis.least / std::log2(10.0)));; ++power)
    for (const double times : {1.0, 2.0, 5.0}) {
      const double tick = times * std::pow(10.0, power);
      if (std::log2(tick) > axis.most + kFuzz) return ticks;
      if (std::log2(tick) < axis.least - kFuzz || (decades > 3 && times > 1)) continue;
      ticks.push_back(tick);
    }
}

std::string line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\"/>\n";
}

/// Returns a text element. A label of the kind "second" is hidden on narrow screens.
std::string label(double x, double y, std::string_view anchor, const std::string& text,
                  std::string_view kind = "") {
  const std::string cls = kind.empty() ? "" : "class=\"" + std::string(kind) + "\" ";
  return "<text " + cls + "x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\">" + html_text(text) + "</text>\n";
}

std::string grid(const Plot& plot, const Axis& x, const Axis& y) {
  std::string out = "<g class=\"grid\">\n";
  bool is_second = false;
  for (const double tick : x_ticks(x)) {
    const double at = x.place(tick);
    out += line(at, kTop, at, kHeight - kBottom);
    out +=
        label(at, kHeight - kBottom + 20, "middle", plot.x_text(tick), is_second ? "second" : "");
    is_second = !is_second;
  }
  for (const double tick : y_ticks(y)) {
    const double at = y.place(tick);
    out += line(kLeft, at, kWidth - kRight, at);
    out += label(kLeft - 6, at + 4, "end", plot.y_text(tick));
  }
  return out + "</g>\n";
}

std::string drawn(const Plot& plot, const Curve& curve, std::size_t index, const Axis& x,
                  const Axis& y) {
  std::string path;
  std::string dots;
  for (const Point& point : curve.points) {
    const std::string at_x = number(x.place(point.x));
    const std::string at_y = number(y.place(point.y));
    append_item(path, at_x + "," + at_y, " ");
    dots += "<circle cx=\"" + at_x + "\" cy=\"" + at_y + "\" r=\"3.5\"><title>" +
            html_text(curve.name + ", " + plot.x_text(point.x) + ": " + plot.y_text(point.y)) +
            "</title></circle>\n";
  }
  return "<g class=\"curve c" + std::to_string(index % kColors) + "\">\n<polyline points=\"" +
         path + "\"/>\n" + dots + "</g>\n";
}

std::string legend(const std::vector<Curve>& curves) {
  std::string out = "<figcaption>";
  for (std::size_t i = 0; i < curves.size(); ++i)
    out += "<span class=\"c" + std::to_string(i % kColors) + "\"><b>&#9679;</b> " +
           html_text(curves[i].name) + "</span> ";
  return out + "</figcaption>\n";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::string_view bytes = text.substr(0, point.bytes);
    const bool layout = bytes == "\n" || bytes == "\t";
    if (!point.valid || (steers(point.value) && !layout))
      out += '?';
    else if (bytes == "&")
      out += "&amp;";
    else if (bytes == "<")
      out += "&lt;";
    else if (bytes == ">")
      out += "&gt;";
    else if (bytes == "\"")
      out += "&quot;";
    else
      out += bytes;
    text.remove_prefix(point.bytes);
  }
  return out;
}

std::string plot_figure(const Plot& plot) {
  const std::vector<Curve> curves = drawable(plot.curves);
  if (curves.empty()) return "";
  const Axis x = axis_of(curves, kLeft, kWidth - kRight, [](const Point& p) { return p.x; });
  const Axis y =
      rounded(axis_of(curves, kHeight - kBottom, kTop, [](const Point& p) { return p.y; }));
  std::string out = "<figure>\n<h2>" + html_text(plot.title) + "</h2>\n<svg viewBox=\"0 0 " +
                    number(kWidth) + " " + number(kHeight) + "\" role=\"img\" aria-label=\"" +
                    html_text(plot.title) + "\">\n" + grid(plot, x, y);
  for (std::size_t i = 0; i < curves.size(); ++i)
    out += drawn(plot, curves[i], i, x, y);
  out += label(kLeft - 6, kTop - 14, "start", plot.y_label);
  out += label((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", plot.x_label);
  return out + "</svg>\n" + legend(curves) + "</figure>\n";
}

std::string_view plot_style() noexcept {
  return ":root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--rule:#d4d7dc;--k0:#0b62a4;"
         "--k1:#c2410c;--k2:#067a55;--k3:#a21caf;--k4:#8a6100;--k5:#be123c;--k6:#0e7490;"
         "--k7:#57534e}\n"
         "@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#16181c;--rule:#3a3f47;"
         "--k0:#6cb6ff;--k1:#ff9d5c;--k2:#4ade9f;--k3:#e38df0;--k4:#f0c94d;--k5:#ff8fa3;"
         "--k6:#67d5ea;--k7:#c4bdb5}}\n"
         ".c0{--k:var(--k0)}.c1{--k:var(--k1)}.c2{--k:var(--k2)}.c3{--k:var(--k3)}"
         ".c4{--k:var(--k4)}.c5{--k:var(--k5)}.c6{--k:var(--k6)}.c7{--k:var(--k7)}\n"
         "figure{margin:2em 0}figure h2{margin:0 0 .4em}figcaption span{margin-right:1.2em}\n"
         "figcaption b{color:var(--k)}svg{width:100%;height:auto;display:block}\n"
         "svg text{fill:var(--ink);font-size:12px}.grid line{stroke:var(--rule)}\n"
         "@media(max-width:600px){svg text{font-size:20px}svg .second{display:none}}\n"
         ".curve polyline{fill:none;stroke:var(--k);stroke-width:2}.curve circle{fill:var(--k)}\n";
}

}  // namespace fastgpu::cli
