// Curves of a page as SVG, on linear axes from 0.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardplan {

inline constexpr const char* kFirstColour = "#4269d0";
inline constexpr const char* kSecondColour = "#ff725c";
inline constexpr const char* kThirdColour = "#3ca951";

struct Curve {
  const char* name;
  const char* colour;
  std::vector<std::pair<double, double>> points{};
  bool dots = false;                  // each point by itself, not joined
  std::vector<std::string> titles{};  // of dots, shown under the pointer
};

struct PlotAxes {
  std::string title, across;
  std::string up{};  // "" where the title says it
};

// "" where there is nothing above 0.
[[nodiscard]] std::string plot(const PlotAxes& axes, const std::vector<Curve>& curves);

}  // namespace shardplan
