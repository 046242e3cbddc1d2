// Predicted over measured as an SVG in a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardplan {

struct Dot {
  double measured = 0, predicted = 0;
  std::size_t colour = 0;
  std::string title;
};

// Logarithmic axes, the diagonal, and lines at 20 % beside it; "" without dots.
[[nodiscard]] std::string scatter(const std::string& title, std::vector<Dot> dots);
[[nodiscard]] const char* scatter_colour(std::size_t colour);

}  // namespace shardplan
