#include "tools/documents/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/documents/page.h"

namespace shardplan {
namespace {

constexpr double kSize = 420;  // of a plot, pixels
constexpr double kMargin = 48;
constexpr std::array<const char*, 8> kColours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0",
                                              "#3ca951", "#ff8ab7", "#a463f2", "#9c6b4e"};

// Predicted over measured on logarithmic axes, with the diagonal and lines at 20 % beside it.
class Scatter {
 public:
  Scatter(std::string title, std::vector<Dot> dots) : title_(std::move(title)), dots_(std::move(dots)) {
    for (const Dot& d : dots_) {
      low_ = std::min({low_, d.measured, d.predicted});
      high_ = std::max({high_, d.measured, d.predicted});
    }
    low_ = std::pow(10, std::floor(std::log10(low_) * 2) / 2);
    high_ = std::pow(10, std::ceil(std::log10(high_) * 2) / 2);
  }

  [[nodiscard]] std::string svg() const {
    if (dots_.empty()) return "";
    std::string out =
        fmt::format("<svg viewBox=\"0 0 {0} {0}\" width=\"{0}\" height=\"{0}\" role=\"img\"><title>{1}</title>", kSize,
                    html_text(title_));
    out += fmt::format("<text x=\"{}\" y=\"16\" class=\"t\">{}</text>", kMargin, html_text(title_));
    for (double tick = low_; tick <= high_ * 1.001; tick *= std::sqrt(10.0)) {
      out += fmt::format("<path class=\"g\" d=\"M{0:.1f},{1:.1f}V{2:.1f}M{1:.1f},{3:.1f}H{4:.1f}\"/>", x(tick), kMargin,
                         kSize - kMargin, y(tick), kSize - kMargin);
      out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text>", x(tick),
                         kSize - kMargin + 16, tick);
      out += fmt::format("<text class=\"a\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>", kMargin - 6,
                         y(tick) + 4, tick);
    }
    for (const double factor : {1.0, 1.2, 1 / 1.2}) out += line(factor);
    for (const Dot& d : dots_) {
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\" fill-opacity=\".6\"><title>{}</title></circle>",
          x(d.measured), y(d.predicted), scatter_colour(d.colour), html_text(d.title));
    }
    return out + fmt::format("<text class=\"a\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured</text></svg>\n",
                             kSize / 2, kSize - 12);
  }

 private:
  [[nodiscard]] double share(double value) const { return std::log(value / low_) / std::log(high_ / low_); }
  [[nodiscard]] double x(double value) const { return kMargin + share(value) * (kSize - 2 * kMargin); }
  [[nodiscard]] double y(double value) const { return kSize - kMargin - share(value) * (kSize - 2 * kMargin); }
  [[nodiscard]] std::string line(double factor) const {
    const double from = std::max(low_, low_ / factor);
    const double to = std::min(high_, high_ / factor);
    return fmt::format("<path class=\"{}\" d=\"M{:.1f},{:.1f}L{:.1f},{:.1f}\"/>", factor == 1 ? "d" : "e", x(from),
                       y(from * factor), x(to), y(to * factor));
  }

  std::string title_;
  std::vector<Dot> dots_;
  double low_ = 1e300, high_ = 1e-300;
};

}  // namespace

const char* scatter_colour(std::size_t colour) { return kColours[colour % kColours.size()]; }

std::string scatter(const std::string& title, std::vector<Dot> dots) { return Scatter(title, std::move(dots)).svg(); }

}  // namespace shardplan
