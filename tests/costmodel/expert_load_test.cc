#include "costmodel/expert_capacity.h"
#include "costmodel/expert_load.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

ExpertLoad zipf(double exponent) {
  ExpertLoad load;
  load.kind = ExpertLoad::Kind::kZipf;
  load.exponent_ratio = exponent;
  return load;
}

ExpertLoad histogram(std::vector<double> counts) {
  ExpertLoad load;
  load.kind = ExpertLoad::Kind::kHistogram;
  load.counts = std::move(counts);
  return load;
}

double choose(std::int64_t n, std::int64_t k) {
  double result = 1;
  for (std::int64_t i = 0; i < k; ++i) result *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return n < k ? 0 : result;
}

// A file that lives as long as the test.
class CountsFile {
 public:
  explicit CountsFile(const std::string& text) { std::ofstream(path_) << text; }
  ~CountsFile() { std::filesystem::remove(path_); }
  CountsFile(const CountsFile&) = delete;
  CountsFile& operator=(const CountsFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "shardplan_expert_load_test.json";
};

TEST_CASE("Shares 0.45 0.15 0.1 0.3 over four ranks slow the layer 1.8 times") {
  const ExpertLoadModel model(histogram({0.45, 0.15, 0.1, 0.3}), 4, 1, 4, 0);
  CHECK(model.imbalance_ratio() == Approx(1.8));
  CHECK(model.busiest_rows(100) == Approx(45));
  CHECK(model.mean_rows(100) == Approx(25));
  CHECK(model.busiest_visit_ratio() == Approx(0.45));
}

TEST_CASE("Three tokens that pick 2 of 8 experts hit 4.625 of them") {
  CHECK(distinct_experts(8, 2, 3) == Approx(4.625));
  CHECK(distinct_experts(8, 8, 1) == Approx(8));
  CHECK(distinct_experts(8, 2, 0) == 0);
  CHECK(distinct_experts(256, 8, 1e9) == Approx(256));
}

TEST_CASE("A capacity factor of 1.25 gives 40 slots to each of 64 experts") {
  CHECK(expert_capacity(1024, 2, 64, 1.25) == 40);
  CHECK(expert_capacity(1024, 2, 64, 1.0) == 32);
  CHECK(expert_capacity(10, 1, 1, 1.1) == 11);
  CHECK(expert_capacity(1, 1, 64, 1.0) == 1);
}

TEST_CASE("Redundant copies bring the busiest of four ranks from 120 to 50 of 200") {
  const ExpertLoad load = histogram({120, 40, 20, 20});
  CHECK(ExpertLoadModel(load, 4, 1, 4, 0).busiest_rows(200) == Approx(120));
  const ExpertLoadModel balanced(load, 4, 1, 4, 4);
  CHECK(balanced.busiest_rows(200) == Approx(50));
  CHECK(balanced.slots_per_rank() == 2);
}

TEST_CASE("Uniform load is balanced and follows the closed forms") {
  const ExpertLoadModel model({}, 256, 8, 16, 0);
  CHECK(model.imbalance_ratio() == Approx(1));
  CHECK(model.slots_per_rank() == 16);
  CHECK(model.busiest_hits(64) == Approx(distinct_experts(256, 8, 64) / 16));
  CHECK(model.distinct_destinations() == Approx(16 * (1 - choose(240, 8) / choose(256, 8))));
  CHECK(model.busiest_visit_ratio() == Approx(model.mean_visit_ratio()));
}

TEST_CASE("Experts that do not divide give the first ranks one more") {
  const ExpertLoadModel model({}, 10, 2, 4, 0);  // 3, 3, 2, 2
  CHECK(model.slots_per_rank() == 3);
  CHECK(model.busiest_rows(10) == Approx(6));
  CHECK(model.imbalance_ratio() == Approx(1.2));
  CHECK(model.distinct_destinations() ==
        Approx(4 - 2 * choose(7, 2) / choose(10, 2) - 2 * choose(8, 2) / choose(10, 2)));
  CHECK(ExpertLoadModel({}, 4, 2, 8, 0).busiest_rows(10) == Approx(5));  // more ranks than experts
}

TEST_CASE("One rank holds everything and is visited by every token") {
  const ExpertLoadModel model(zipf(1), 64, 6, 1, 0);
  CHECK(model.distinct_destinations() == Approx(1));
  CHECK(model.imbalance_ratio() == Approx(1));
  CHECK(model.busiest_hits(1) == Approx(6));
}

TEST_CASE("Hits of a skewed load match the formula between table entries") {
  const ExpertLoadModel model(histogram({8, 4, 2, 2}), 4, 1, 2, 0);  // p = 0.5, 0.25 | 0.125, 0.125
  for (const double tokens : {0.0, 0.5, 1.0, 3.0, 7.0, 50.0, 1e9}) {
    const double exact = tokens < 1 ? tokens * 0.75 : 2 - std::pow(0.5, tokens) - std::pow(0.75, tokens);
    CHECK(model.busiest_hits(tokens) == Approx(exact).epsilon(0.01).margin(1e-12));
  }
}

TEST_CASE("No expert is picked by more than every token") {
  // Scaled to 2 picks, 100 : 1 : 1 : 1 would give the first 1.94: it gets 1, and the others 1/3 each.
  const ExpertLoadModel model(histogram({100, 1, 1, 1}), 4, 2, 4, 0);
  CHECK(model.busiest_rows(30) == Approx(30));
  CHECK(model.distinct_destinations() == Approx(2));
}

TEST_CASE("With one expert per rank a token visits the ranks as often as it picks their experts") {
  const ExpertLoadModel model(histogram({9, 7, 5, 4, 3, 2, 1, 1}), 8, 3, 8, 0);  // p = 3 * count / 32
  CHECK(model.busiest_visit_ratio() == Approx(27.0 / 32).epsilon(1e-3));
  CHECK(model.distinct_destinations() == Approx(3));
}

TEST_CASE("Zipf with exponent 0 is uniform, and more skew loads the busiest rank more") {
  const ExpertLoadModel flat(zipf(0), 128, 8, 8, 0);
  const ExpertLoadModel uniform({}, 128, 8, 8, 0);
  CHECK(flat.imbalance_ratio() == Approx(1));
  CHECK(flat.busiest_hits(100) == Approx(uniform.busiest_hits(100)));
  CHECK(flat.distinct_destinations() == Approx(uniform.distinct_destinations()));
  double last = 1;
  for (const double exponent : {0.3, 0.6, 1.0, 1.5}) {
    const double ratio = ExpertLoadModel(zipf(exponent), 128, 8, 8, 0).imbalance_ratio();
    CHECK(ratio > last);
    last = ratio;
  }
}

TEST_CASE("Whatever the skew, the figures stay within their bounds") {
  CHECK(rc::check([] {
    const auto experts = *rc::gen::inRange<std::int64_t>(1, 80);
    const auto per_token = *rc::gen::inRange<std::int64_t>(1, experts + 1);
    const auto ep = *rc::gen::inRange<std::int64_t>(1, 20);
    const auto redundant = *rc::gen::inRange<std::int64_t>(0, 10);
    const auto tokens = static_cast<double>(*rc::gen::inRange(0, 5000));
    const double exponent = *rc::gen::inRange(0, 101) / 10.0;
    const ExpertLoadModel model(zipf(exponent), experts, per_token, ep, redundant);
    const double slack = 1 + 1e-9;
    RC_ASSERT(model.busiest_rows(tokens) * slack >= model.mean_rows(tokens));
    RC_ASSERT(model.busiest_hits(tokens) <= static_cast<double>(model.slots_per_rank()) * slack);
    RC_ASSERT(model.busiest_hits(tokens) <= model.busiest_rows(tokens) * slack);
    RC_ASSERT(model.distinct_destinations() >= 1 / slack);
    RC_ASSERT(model.distinct_destinations() <= static_cast<double>(std::min(per_token, ep)) * slack);
    RC_ASSERT(model.busiest_visit_ratio() <= slack);
    RC_ASSERT(model.busiest_visit_ratio() * slack >= model.mean_visit_ratio());
  }));
}

TEST_CASE("EPLB never loads the busiest rank more than the contiguous placement does on these shapes") {
  for (const double exponent : {0.3, 0.8, 1.2}) {
    const double contiguous = ExpertLoadModel(zipf(exponent), 256, 8, 32, 0).imbalance_ratio();
    CHECK(ExpertLoadModel(zipf(exponent), 256, 8, 32, 32).imbalance_ratio() < contiguous);
  }
}

TEST_CASE("Expert loads are read from the command line") {
  CHECK(parse_expert_load("uniform").kind == ExpertLoad::Kind::kUniform);
  CHECK(parse_expert_load("zipf:0.6").exponent_ratio == 0.6);
  const CountsFile file("[3, 1.5, 0, 2]");
  const ExpertLoad load = parse_expert_load(file.path());
  CHECK(load.kind == ExpertLoad::Kind::kHistogram);
  CHECK(load.counts == std::vector<double>{3, 1.5, 0, 2});
}

TEST_CASE("Bad expert loads are refused with a reason") {
  for (const char* text : {"", "Uniform", "zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:11",
                           "zipf:1e999", "zipf:0.6 ", "/nowhere/at/all", "/"}) {
    CHECK_THROWS_AS(parse_expert_load(text), InputError);
  }
  CHECK_THAT(message_of([] { (void)parse_expert_load("unifrom"); }),
             contains_text("'unifrom' is neither") && contains_text("zipf:A"));
  for (const char* json : {"", "{}", "[]", "[0, 0]", "[1, -1]", "[1, \"2\"]", "[1, null]", "[1, 1e300]", "[1, 1e999]",
                           "[[1]]", "[1", "3"}) {
    const CountsFile file(json);
    CHECK_THROWS_AS(parse_expert_load(file.path()), InputError);
  }
}

TEST_CASE("A histogram of another model is refused") {
  CHECK_THAT(message_of([] {
               ExpertLoadModel(histogram({1, 2, 3}), 4, 1, 2, 0);
             }),
             contains_text("3 counts for a model with 4 experts"));
  CHECK_THAT(message_of([] {
               ExpertLoadModel(histogram({1, 2, 0, 0}), 4, 3, 2, 0);
             }),
             contains_text("a token picks 3"));
}

}  // namespace
}  // namespace shardplan
