#include "tools/documents/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "tools/documents/page.h"

namespace shardplan {
namespace {

constexpr double kWidth = 460;  // pixels
constexpr double kHeight = 300;
constexpr double kMargin = 48;
constexpr double kMostTicks = 6;

// The least of 1, 2 and 5 times a power of ten that cuts `most` into few enough parts.
double tick_of(double most) {
  const double ten = std::pow(10, std::floor(std::log10(most / kMostTicks)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (most / (step * ten) <= kMostTicks) return step * ten;
  }
  return 10 * ten;
}

std::string label(double value) { return value >= 1000 ? format_count(value) : fmt::format("{:g}", value); }

class Plot {
 public:
  Plot(const PlotAxes& axes, const std::vector<Curve>& curves) : axes_(axes), curves_(curves) {
    for (const Curve& curve : curves_) {
      for (const auto& [x, y] : curve.points) {
        right_ = std::max(right_, x);
        top_ = std::max(top_, y);
      }
    }
    if (right_ <= 0 || top_ <= 0) return;
    across_ = tick_of(right_);
    up_ = tick_of(top_);
    right_ = across_ * std::ceil(right_ / across_ - 1e-9);
    top_ = up_ * std::ceil(top_ / up_ - 1e-9);
  }

  [[nodiscard]] std::string svg() const {
    if (right_ <= 0 || top_ <= 0) return "";
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>{2}</title>"
        "<text x=\"{3}\" y=\"18\" class=\"t\">{2}</text>",
        kWidth, kHeight, html_text(axes_.title), kMargin);
    out += grid();
    double legend = kWidth - kMargin;
    for (const Curve& curve : curves_) {
      out += curve.dots ? dots(curve) : line(curve);
      if (curves_.size() > 1)
        out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"34\" text-anchor=\"end\" style=\"fill:{}\">{}</text>",
                           legend, curve.colour, html_text(curve.name));
      legend -= 80;
    }
    if (!axes_.up.empty()) out += fmt::format("<text class=\"a\" x=\"6\" y=\"34\">{}</text>", html_text(axes_.up));
    return out + fmt::format("<text class=\"a\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></svg>\n", kWidth / 2,
                             kHeight - 8, html_text(axes_.across));
  }

 private:
  [[nodiscard]] double at_x(double x) const { return kMargin + x / right_ * (kWidth - 2 * kMargin); }
  [[nodiscard]] double at_y(double y) const { return kHeight - kMargin - y / top_ * (kHeight - 2 * kMargin); }

  [[nodiscard]] std::string grid() const {
    std::string out;
    for (double x = 0; x <= right_ * 1.0001; x += across_) {
      out += fmt::format("<path class=\"g\" d=\"M{:.1f},{:.1f}V{:.1f}\"/>", at_x(x), at_y(0), at_y(top_));
      out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", at_x(x),
                         kHeight - kMargin + 16, label(x));
    }
    for (double y = 0; y <= top_ * 1.0001; y += up_) {
      out += fmt::format("<path class=\"g\" d=\"M{:.1f},{:.1f}H{:.1f}\"/>", at_x(0), at_y(y), at_x(right_));
      out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kMargin - 6,
                         at_y(y) + 4, label(y));
    }
    return out;
  }

  [[nodiscard]] std::string line(const Curve& curve) const {
    std::string path;
    for (const auto& [x, y] : curve.points)
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : "L", at_x(x), at_y(y));
    return fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" d=\"{}\"/>", curve.colour, path);
  }

  [[nodiscard]] std::string dots(const Curve& curve) const {
    std::string out;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const auto& [x, y] = curve.points[i];
      const std::string title = i < curve.titles.size() ? curve.titles[i] : "";
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>", at_x(x),
                         at_y(y), curve.colour, html_text(title));
    }
    return out;
  }

  const PlotAxes& axes_;
  const std::vector<Curve>& curves_;
  double right_ = 0, top_ = 0;
  double across_ = 1, up_ = 1;  // between lines of the grid
};

}  // namespace

std::string plot(const PlotAxes& axes, const std::vector<Curve>& curves) { return Plot(axes, curves).svg(); }

}  // namespace shardplan
