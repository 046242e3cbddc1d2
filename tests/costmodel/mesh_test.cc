#include "costmodel/mesh.h"

#include <rapidcheck.h>

#include <set>

#include "base/errors.h"
#include "costmodel/placement.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Sizes = std::vector<std::int64_t>;

// A random mesh of up to four digits.
Mesh any_mesh() {
  const auto sizes = *rc::gen::resize(4, rc::gen::container<Sizes>(rc::gen::inRange<std::int64_t>(2, 5)));
  Sizes strides;
  std::int64_t ranks = 1;
  for (const std::int64_t size : sizes) strides.push_back(ranks *= size);
  return *Mesh::refine(ranks, strides);
}

DigitSet any_group() {
  DigitSet group;
  for (const Digit d : *rc::gen::container<std::vector<Digit>>(rc::gen::inRange<Digit>(0, 4))) group.insert(d);
  return group;
}

TEST_CASE("A mesh refines the strides of both factorisations of a stage") {
  // tp 8, dcp 4 (attention) with moe_tp 2, ep 4: digits of sizes 2, 2, 2.
  const auto mesh = Mesh::refine(8, {1, 4, 8, 2, 8});
  REQUIRE(mesh);
  CHECK(mesh->sizes() == Sizes{2, 2, 2});
  CHECK(mesh->digits_between(1, 4) == DigitList{1, 2});  // dcp
  CHECK(mesh->digits_between(1, 8) == DigitList{0, 1, 2});
  CHECK(mesh->digits_between(2, 8) == DigitList{0, 1});  // ep
  CHECK(mesh->digits_between(4, 4).empty());
}

TEST_CASE("One rank is a mesh without digits") {
  const auto mesh = Mesh::refine(1, {1, 1});
  REQUIRE(mesh);
  CHECK(mesh->digit_count() == 0);
  CHECK(mesh->groups({}) == std::vector<std::vector<int>>{{0}});
}

TEST_CASE("Factorisations that do not nest are refused") {
  CHECK_FALSE(Mesh::refine(6, {2, 3}));
  CHECK_FALSE(Mesh::refine(8, {3}));
  CHECK_FALSE(Mesh::refine(4, {8}));
}

TEST_CASE("An axis that ends inside a digit is our fault") {
  CHECK_THROWS_AS(Mesh::refine(8, {4})->digits_between(1, 2), InternalError);
}

TEST_CASE("The grid of 2 MoE-TP x 2 EP has the groups of the article") {
  const auto mesh = Mesh::refine(4, {2});
  CHECK(mesh->groups(mesh->digits_between(1, 2)) == std::vector<std::vector<int>>{{0, 1}, {2, 3}});
  CHECK(mesh->groups(mesh->digits_between(2, 4)) == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
}

TEST_CASE("A part is the mixed-radix number of the listed coordinates") {
  const auto mesh = Mesh::refine(12, {2, 6});  // sizes 2, 3, 2
  CHECK(mesh->sizes() == Sizes{2, 3, 2});
  CHECK(mesh->part(11, {0, 1, 2}) == 11);
  CHECK(mesh->part(5, {1, 2}) == 5);
  CHECK(mesh->part(5, {2, 1}) == 5);  // coordinates (0, 2, 1): 1 * 3 + 2
  CHECK(mesh->part(8, {2, 0}) == 1);  // coordinates (1, 1, 0)
  CHECK(mesh->size(DigitList{0, 2}) == 4);
}

TEST_CASE("Groups partition the ranks, and every member names the same group") {
  CHECK(rc::check([] {
    const Mesh mesh = any_mesh();
    const DigitSet group = any_group();
    std::set<int> seen;
    for (const auto& members : mesh.groups(group)) {
      RC_ASSERT(std::ssize(members) == mesh.size(group));
      RC_ASSERT(std::is_sorted(members.begin(), members.end()));
      for (const int rank : members) {
        RC_ASSERT(seen.insert(rank).second);
        RC_ASSERT(mesh.group_of(rank, group) == members);
      }
    }
    RC_ASSERT(std::ssize(seen) == mesh.ranks());
  }));
}

TEST_CASE("Placements compare per dimension and print their digits") {
  const auto mesh = Mesh::refine(8, {2, 4});
  Placement a;
  a.append(Dim::kHeads, {1, 2}, Layout::kContiguous);
  a.append(Dim::kTokens, {0}, Layout::kZigzag);
  Placement b;
  b.append(Dim::kTokens, {0}, Layout::kZigzag);
  b.append(Dim::kHeads, {1, 2}, Layout::kContiguous);
  CHECK(a == b);
  CHECK(a.text(*mesh) == "tokens/[0 zigzag] heads/[1,2]");
  CHECK(a.digits(Dim::kHeads) == DigitList{1, 2});
  CHECK(a.sharded().bits() == 7);
  REQUIRE(a.at(0) != nullptr);
  CHECK(a.at(0)->dim == Dim::kTokens);
  CHECK_THROWS_AS(a.append(Dim::kFfn, {1}, Layout::kContiguous), InternalError);

  a.remove(DigitSet({1, 2}));
  a.sum = DigitSet({1, 2});
  CHECK_FALSE(a == b);
  CHECK(a.text(*mesh) == "tokens/[0 zigzag] sum{1,2}");
  CHECK(a.at(1) == nullptr);
  CHECK(Placement{}.text(*mesh) == "replicate");
}

}  // namespace
}  // namespace shardplan
