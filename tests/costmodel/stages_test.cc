#include "costmodel/stages.h"

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/made_models.h"

namespace shardplan {
namespace {

using Split = std::vector<std::int64_t>;

TEST_CASE("An even split gives its extras to the first stages") {
  CHECK(even_layer_split(94, 4) == Split{24, 24, 23, 23});
  CHECK(even_layer_split(60, 3) == Split{20, 20, 20});
  CHECK(even_layer_split(5, 5) == Split{1, 1, 1, 1, 1});
  CHECK_THROWS_AS(even_layer_split(3, 4), InternalError);
}

// The slowest stage of a split.
double slowest(const std::vector<double>& cost, double first, double last, const Split& split) {
  double most = 0;
  std::size_t layer = 0;
  for (std::size_t s = 0; s < split.size(); ++s) {
    double stage = (s == 0 ? first : 0) + (s + 1 == split.size() ? last : 0);
    for (std::int64_t i = 0; i < split[s]; ++i) stage += cost[layer++];
    most = std::max(most, stage);
  }
  return most;
}

// Least slowest stage over all splits of the layers left.
double least_slowest(const std::vector<double>& cost, double first, double last, std::int64_t stages, Split& so_far,
                     std::int64_t left) {
  if (stages == 1) {
    so_far.push_back(left);
    const double time = slowest(cost, first, last, so_far);
    so_far.pop_back();
    return time;
  }
  double least = 1e300;
  for (std::int64_t n = 1; n <= left - (stages - 1); ++n) {
    so_far.push_back(n);
    least = std::min(least, least_slowest(cost, first, last, stages - 1, so_far, left - n));
    so_far.pop_back();
  }
  return least;
}

TEST_CASE("A balanced split is as good as the best of all splits") {
  CHECK(rc::check([] {
    const std::int64_t layers = any_of(1, 9);
    const std::int64_t stages = any_of(1, layers);
    const auto cost = *rc::gen::container<std::vector<double>>(
        static_cast<std::size_t>(layers), rc::gen::map(rc::gen::inRange(1, 100), [](int x) { return x / 10.0; }));
    const double first = static_cast<double>(any_of(0, 200)) / 10;
    const double last = static_cast<double>(any_of(0, 200)) / 10;
    const Split split = balanced_layer_split(cost, first, last, stages);
    RC_ASSERT(std::ssize(split) == stages);
    RC_ASSERT(std::accumulate(split.begin(), split.end(), std::int64_t{0}) == layers);
    RC_ASSERT(*std::min_element(split.begin(), split.end()) >= 1);
    Split none;
    RC_ASSERT(slowest(cost, first, last, split) == Approx(least_slowest(cost, first, last, stages, none, layers)));
  }));
}

TEST_CASE("A head worth three layers takes three layers from the last stage") {
  // 13 layers of 1, head of 3, 2 stages: 8 against 5 + 3.
  CHECK(balanced_layer_split(std::vector<double>(13, 1.0), 0, 3, 2) == Split{8, 5});
  CHECK(balanced_layer_split(std::vector<double>(13, 1.0), 3, 0, 2) == Split{5, 8});
}

TEST_CASE("Stages count the kinds of their layers") {
  // The last small model: one dense layer, then three with experts.
  const ModelSpec model = small_family_models().back();
  const auto stages = stage_layers(model, {2, 2});
  CHECK(stages[0].of_kind == Split{1, 1});
  CHECK(stages[1].of_kind == Split{0, 2});
  CHECK(stages[1].first == 2);
  CHECK_THROWS_AS(stage_layers(model, {2, 1}), InternalError);
  CHECK_THROWS_AS(stage_layers(model, {2, 3}), InternalError);
}

}  // namespace
}  // namespace shardplan
