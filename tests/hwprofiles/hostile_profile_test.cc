#include <rapidcheck.h>

#include "base/errors.h"
#include "hwprofiles/profile.h"
#include "profile_text.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Catch::Matchers::Contains;

struct Slip {
  const char* what;
  const char* from;
  const char* to;
  const char* pointer;  // must be named in the error
};

TEST_CASE("every slip in a profile is refused, and the error names its place") {
  const Slip slip = GENERATE(
      Slip{"missing unit", "\"1 TB/s\"", "\"1\"", "/device/memory_bandwidth/value"},
      Slip{"a bare number", "\"1 TB/s\"", "1e12", "/device/memory_bandwidth/value"},
      Slip{"unknown unit", "\"32 GiB\"", "\"32 gibibytes\"", "/device/memory/value"},
      Slip{"not a number", "\"1 TB/s\"", "\"nan TB/s\"", "/device/memory_bandwidth/value"},
      Slip{"infinite", "\"1 TB/s\"", "\"inf TB/s\"", "/device/memory_bandwidth/value"},
      Slip{"negative", "\"100 GB/s\"", "\"-100 GB/s\"", "/node/scale_up/bandwidth/value"},
      Slip{"zero", "\"100 TFLOP/s\"", "\"0 TFLOP/s\"", "/device/peak/bf16"},
      Slip{"absurd", "\"1 TB/s\"", "\"1e300 TB/s\"", "/device/memory_bandwidth"},
      Slip{"no source", R"("value": "32 GiB", "source": "invented")", R"("value": "32 GiB")", "/device/memory/source"},
      Slip{"empty source", R"("value": "32 GiB", "source": "invented")", R"("value": "32 GiB", "source": "")",
           "/device/memory/source"},
      Slip{"unknown key", "\"nics\"", "\"nicks\"", "/node"},
      Slip{"unknown format", "\"bf16\": {\"value\"", "\"bf17\": {\"value\"", "/device/peak"},
      Slip{"unknown kernel family", "gemm.bf16", "gem.bf16", "/kernels/gem.bf16"},
      Slip{"unknown collective", "\"all_reduce\"", "\"al_reduce\"", "/collectives/al_reduce"},
      Slip{"efficiency above one", "\"compute_efficiency\": 0.5", "\"compute_efficiency\": 1.5", "compute_efficiency"},
      Slip{"efficiency zero", "\"efficiency\": 0.5", "\"efficiency\": 0", "/collectives/all_reduce/efficiency"},
      Slip{"ramp above one", "\"ramp\": 0.5", "\"ramp\": 2", "ramp"},
      Slip{"a latency of a minute", "\"fixed\": \"3 us\"", "\"fixed\": \"60 s\"", "/kernels/gemm.bf16/fixed"},
      Slip{"more NICs than divide", "\"nics\": {\"value\": 4", "\"nics\": {\"value\": 3", "/node/nics"},
      Slip{"unknown topology", R"("kind": "beadlink")", R"("kind": "beadlink", "topology": "torus")",
           "/node/scale_up/topology"},
      Slip{"oversubscription below one", "\"oversubscription\": 2", "\"oversubscription\": 0.5",
           "/fabric/oversubscription"},
      Slip{"another schema", "hardware-1", "hardware-9", "/schema"},
      Slip{"duplicate key", "\"vendor\": \"nobody\"", "\"vendor\": \"nobody\", \"vendor\": \"x\"", "vendor"});
  INFO(slip.what);
  const std::string error = error_of(edited(made_up_machine(), slip.from, slip.to));
  CHECK_THAT(error, Contains(slip.pointer) && Contains("machine.json"));
}

TEST_CASE("an unknown key names the nearest known one") {
  CHECK_THAT(
      error_of(edited(made_up_machine(), "\"architecture\": \"beads\"", "\"architecture\": \"beads\", \"memry\": 1")),
      Contains("/device/memry") && Contains("such as memory"));
}

TEST_CASE("a mesh does not reduce in a switch, and has few devices") {
  const std::string mesh =
      edited(made_up_machine(), R"("kind": "beadlink")", R"("kind": "beadlink", "topology": "mesh")");
  CHECK(read_hardware(mesh, "machine.json").node.mesh);
  CHECK_THAT(error_of(edited(mesh, "\"scale_up\"", "\"in_switch_reduction\": true, \"scale_up\"")),
             Contains("/node/in_switch_reduction"));
  CHECK_THAT(error_of(edited(mesh, "\"scale_up\"", "\"domain\": {\"value\": 20, \"source\": \"x\"}, \"scale_up\"")),
             Contains("/node/scale_up/topology"));
}

TEST_CASE("a domain may be a part of a host, but only an even one") {
  const std::string text =
      edited(made_up_machine(), "\"scale_up\"", "\"domain\": {\"value\": 6, \"source\": \"x\"}, \"scale_up\"");
  CHECK_THAT(error_of(text), Contains("/node/domain"));
  const std::string pairs =
      edited(made_up_machine(), "\"scale_up\"", "\"domain\": {\"value\": 2, \"source\": \"x\"}, \"scale_up\"");
  CHECK(read_hardware(pairs, "machine.json").node.domain == 2);
}

TEST_CASE("reading any prefix of a profile ends in a profile or an InputError") {
  CHECK(rc::check("prefix", [] {
    const std::string whole = made_up_machine();
    const auto length = *rc::gen::inRange<std::size_t>(0, whole.size());
    CHECK_THROWS_AS(read_hardware(whole.substr(0, length), "machine.json"), InputError);
  }));
}

TEST_CASE("reading a profile with any byte changed ends in a profile or an InputError") {
  CHECK(rc::check("one byte", [] {
    std::string text = made_up_machine();
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    try {
      (void)read_hardware(text, "machine.json");
    } catch (const InputError&) {
    }
  }));
}

}  // namespace
}  // namespace shardplan
