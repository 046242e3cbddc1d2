// Records: what ends a run leaves them usable, and the fit of made-up ones finds what made them.
#include "calibrate/fit/record_fit.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/errors.h"
#include "calibrate/records/record_writer.h"
#include "calibrate/run/node_timer.h"
#include "calibrate/small_models.h"
#include "costmodel/lowered_model.h"
#include "costmodel/step_price.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

RecordHeader made_header() {
  RecordHeader header{
      .backend = "host", .device = "a processor", .cores = 2, .last_level_cache_bytes = 1e6, .memory_bytes = 8e9};
  header.libraries = {{"Eigen", "3.4.0"}};
  return header;
}

Record made_record(std::int64_t rows, double microseconds) {
  return {.kind = "elementwise",
          .op = "norm",
          .shape = {{"rows", rows}, {"row_bytes", 64}},
          .flops = 0,
          .bytes = static_cast<double>(64 * rows),
          .microseconds = microseconds,
          .spread = 0.02,
          .samples = 9,
          .device = "a processor",
          .clock_mhz = 2600};
}

template <class Error, class Body>
std::string said(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("records are read as they were written, and a shape is known by what it is") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  {
    RecordWriter writer(path, made_header());
    writer.append(made_record(4, 1.5));
    writer.append(made_record(8, 2.5));
    CHECK(writer.rounds(made_record(4, 0).key()) == 1);
    CHECK(writer.rounds(made_record(5, 0).key()) == 0);
  }
  const RecordFile file = read_records(path);
  REQUIRE(file.records.size() == 2);
  CHECK(file.header.libraries.at("Eigen") == "3.4.0");
  CHECK(file.records[1].op == "norm");
  CHECK(file.records[1].clock_mhz == 2600);
  CHECK(file.records[1].key() == made_record(8, 0).key());
  Record other = made_record(8, 1);
  other.op = "rotary";
  CHECK(other.key() != made_record(8, 1).key());  // another operation over as many bytes is another measurement
}

TEST_CASE("a file that was cut in the middle of a line goes on after its last whole one") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  {
    RecordWriter writer(path, made_header());
    writer.append(made_record(4, 1.5));
    writer.append(made_record(8, 2.5));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  CHECK(read_records(path).cut);
  {
    RecordWriter writer(path, made_header());
    CHECK(writer.rounds(made_record(4, 0).key()) == 1);
    CHECK(writer.rounds(made_record(8, 0).key()) == 0);
    writer.append(made_record(8, 2.6));
  }
  const RecordFile file = read_records(path);
  CHECK_FALSE(file.cut);
  REQUIRE(file.records.size() == 2);
  CHECK(file.records[1].microseconds == 2.6);
}

TEST_CASE("a file cut inside its header begins anew") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  std::ofstream(path) << "{\"kind\":\"hea";
  RecordWriter(path, made_header()).append(made_record(4, 1.5));
  CHECK(read_records(path).records.size() == 1);
}

TEST_CASE("another file's only line is not taken for a cut header, and stays") {
  const ScratchFolder folder;
  const std::string path = folder.path("profile.json");
  std::ofstream(path) << "{\"schema\": \"hardware-1\"}";
  CHECK(said<InputError>([&] { RecordWriter writer(path, made_header()); }).find("profile.json:1") !=
        std::string::npos);
  CHECK(std::filesystem::file_size(path) == 24);
}

TEST_CASE("two runs do not write one file") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  {
    RecordWriter writer(path, made_header());
    CHECK(said<InputError>([&] { RecordWriter second(path, made_header()); }).find("another calibrate run") !=
          std::string::npos);
    writer.append(made_record(4, 1.5));
  }
  CHECK(RecordWriter(path, made_header()).size() == 1);
}

TEST_CASE("records of another device or made with another library are not mixed") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  RecordWriter(path, made_header()).append(made_record(4, 1.5));
  RecordHeader device = made_header();
  device.device = "another processor";
  CHECK(said<InputError>([&] { RecordWriter writer(path, device); }).find("holds records of host on a processor") !=
        std::string::npos);
  RecordHeader library = made_header();
  library.libraries["Eigen"] = "3.5.0";
  CHECK(said<InputError>([&] {
          RecordWriter writer(path, library);
        }).find("made with Eigen 3.4.0, and here is 3.5.0") != std::string::npos);
}

TEST_CASE("a full disk ends the run with what is kept") {
  if (!std::filesystem::exists("/dev/full")) return;
  CHECK(said<EnvironmentError>([] {
          RecordWriter writer("/dev/full", made_header());
        }).find("cannot write: No space left") != std::string::npos);
}

TEST_CASE("a malformed line is named, only half a line at the end is forgiven") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  RecordWriter(path, made_header()).append(made_record(4, 1.5));
  std::ofstream(path, std::ios::app) << "{\"kind\": \"gemm\", \"microseconds\": -1}\n";
  CHECK(said<InputError>([&] { static_cast<void>(read_records(path)); }).find("records.jsonl:3") != std::string::npos);
}

TEST_CASE("the best of several rounds counts, and its spread holds the others") {
  const auto best =
      best_of_rounds({made_record(4, 3.0), made_record(8, 5.0), made_record(4, 2.0), made_record(4, 2.5)});
  REQUIRE(best.size() == 2);
  CHECK(best[0].microseconds == 2.0);
  CHECK(best[0].spread == Approx(0.5));
  CHECK(best[1].spread == Approx(0.02));
}

// Records of a machine of 40 GFLOP/s and 8 GB/s that is as efficient as it says.
RecordFile made_machine() {
  RecordFile file{.header = made_header()};
  const auto add = [&](Record record, double us) {
    record.microseconds = us;
    file.records.push_back(std::move(record));
  };
  for (const std::int64_t m : {1, 2, 4, 8, 16, 64, 256}) {
    for (const std::int64_t n : {64, 128, 512, 1024}) {
      Record gemm{.kind = "gemm", .format = "bf16", .shape = {{"m", m}, {"n", n}, {"k", 256}, {"batch", 1}}};
      gemm.flops = 2.0 * static_cast<double>(m * n) * 256;
      gemm.bytes = 2.0 * static_cast<double>(n * 256 + m * 256 + m * n);
      add(gemm, 2 + std::max(gemm.flops / (40e3 * 0.5), gemm.bytes / (8e3 * 0.8)));
    }
  }
  for (const std::int64_t rows : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610}) {
    add(made_record(rows, 0), 1 + static_cast<double>(64 * rows) / (8e3 * 0.5));
    Record rotary = made_record(rows, 0);
    rotary.op = "rotary";
    add(rotary, 1 + static_cast<double>(64 * rows) / (8e3 * 0.02));  // far slower over the same bytes
    Record reduce{.kind = "all_reduce",
                  .shape = {{"group", 2}, {"message_bytes", 100 * rows}},
                  .ranks = 2,
                  .bytes = static_cast<double>(100 * rows)};
    add(reduce, 20 + static_cast<double>(100 * rows) / 1e3);
  }
  return file;
}

TEST_CASE("the fit of made-up records finds the coefficients that made them, operation by operation") {
  const RecordFit fit = fit_records(made_machine(), "made");
  const HardwareProfile profile = read_hardware(fit.document, "made.json");
  for (const FitOutcome& row : fit.fits) {
    INFO(row.key);
    if (row.key != "default") CHECK(row.model.fit.held_out_mean < 0.03);  // default is two operations at once
  }
  const double bandwidth = profile.device.memory_bandwidth.value() * 1e-6;
  CHECK(kernel_coefficients(profile, "elementwise", "norm").memory_efficiency * bandwidth == Approx(4e3).epsilon(0.05));
  CHECK(kernel_coefficients(profile, "elementwise", "rotary").memory_efficiency * bandwidth ==
        Approx(160).epsilon(0.05));
  CHECK(kernel_coefficients(profile, "elementwise", "norm").fixed.value() * 1e6 == Approx(1).epsilon(0.1));
  const CollectiveCoefficients& reduce = profile.collectives.at("all_reduce");  // groups of two alone: one sum
  CHECK((reduce.base + reduce.per_rank).value() * 1e6 == Approx(20).epsilon(0.1));
}

// Price of the sampling of a decode step of `sequences` on one device, in us.
double sampling_price(const ModelSpec& model, const HardwareProfile& profile, std::int64_t sequences) {
  const ParallelConfig config;
  const LoweredModel lowered = lower_model(model, config, {find_format("bf16"), find_format("bf16"), nullptr});
  const Fabric fabric(profile, 1);
  const CollectivePricer collectives(profile, fabric, PriceMode::kCalibrated);
  const StepPricer pricer(model, config, lowered, collectives, {});
  const auto stages = stage_layers(model, even_layer_split(model.layer_count(), 1));
  for (const OpRow& row : pricer.breakdown(stages, {.decode_sequences = sequences, .decode_context = 64}).ops) {
    if (row.name == "sample") return row.time.value() * 1e6;
  }
  return 0;
}

ModelSpec wide_vocabulary() {
  ModelSpec model = small_dense();
  model.vocab = 32'003;
  return model;
}

Record sampling_record(const std::string& op, std::int64_t rows, double microseconds) {
  Record record = made_record(rows, microseconds);
  record.kind = "sampling";
  record.op = op;
  record.shape = {{"rows", rows}, {"row_bytes", 4 * 32'003 + 4}};
  record.bytes = static_cast<double>(rows) * (4 * 32'003 + 4);
  return record;
}

TEST_CASE("the price of sampling follows its records, of the sampler that is asked for") {
  RecordFile file = made_machine();
  const auto greedy = [](double rows) { return 3 + rows * (4 * 32'003 + 4) / 4e3; };
  const auto drawn = [](double rows) { return 30 + rows * (4 * 32'003 + 4) / 0.2e3; };
  for (const std::int64_t rows : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89}) {
    file.records.push_back(sampling_record("sample", rows, greedy(static_cast<double>(rows))));
  }
  const ModelSpec model = wide_vocabulary();
  const auto priced = [&](SamplerChoice sampler, std::int64_t rows) {
    return sampling_price(model, read_hardware(fit_records(file, "made", sampler).document, "made.json"), rows);
  };
  CHECK(priced(SamplerChoice::kGreedy, 10) == Approx(greedy(10)).epsilon(0.03));
  CHECK(said<InputError>([&] { priced(SamplerChoice::kTopP, 10); }).find("no draw from the likeliest tokens") !=
        std::string::npos);
  RecordFile few = file;
  for (const std::int64_t rows : {1, 2, 3})
    few.records.push_back(sampling_record(kDrawnSampling, rows, drawn(static_cast<double>(rows))));
  CHECK(said<InputError>([&] { (void)fit_records(few, "made", SamplerChoice::kTopP); }).find("too few draws") !=
        std::string::npos);
  for (const std::int64_t rows : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89}) {
    file.records.push_back(sampling_record(kDrawnSampling, rows, drawn(static_cast<double>(rows))));
  }
  CHECK(priced(SamplerChoice::kGreedy, 10) == Approx(greedy(10)).epsilon(0.03));
  CHECK(priced(SamplerChoice::kTopP, 10) == Approx(drawn(10)).epsilon(0.03));
}

TEST_CASE("sampling measured on this host is fitted and priced") {
  const ModelSpec model = wide_vocabulary();
  RunPlan plan{.models = {model}, .configs = {{.tp = 1}}, .shapes = {}};
  for (const std::int64_t batch : {1, 2, 3, 4, 6, 8, 12, 16})
    plan.shapes.push_back({.decode_sequences = batch, .decode_context = 64});
  RecordFile file{.header = made_header(), .records = {}};
  std::map<std::string, double> of_sixteen;
  for (const NodeCase& c : node_cases(plan)) {
    if (c.kind != "gemm" && c.kind != "sampling") continue;
    const NodeTiming timing = time_node(c, {.rule = {.most_seconds = 0.01}});
    file.records.push_back({.kind = c.kind,
                            .format = c.format,
                            .op = c.op,
                            .shape = c.shape,
                            .flops = c.flops,
                            .bytes = c.bytes,
                            .microseconds = timing.seconds.median * 1e6});
    if (file.records.back().field("rows") == 16) of_sixteen[c.op] = file.records.back().microseconds;
  }
  for (const auto& [sampler, op] :
       {std::pair{SamplerChoice::kGreedy, "sample"}, std::pair{SamplerChoice::kTopP, kDrawnSampling}}) {
    const RecordFit fit = fit_records(file, "here", sampler);
    const double price = sampling_price(model, read_hardware(fit.document, "here.json"), 16);
    INFO(op << ": measured " << of_sixteen[op] << " us, priced " << price);
    CHECK(price > of_sixteen[op] / 2);  // cores are shared
    CHECK(price < of_sixteen[op] * 2);
  }
}

TEST_CASE("of several libraries' kernels the fastest counts, rounds are each library's own") {
  Record own = made_record(4, 3.0), other = made_record(4, 2.0);
  other.library = "cudnn";
  const auto best = best_of_rounds({own, other});
  REQUIRE(best.size() == 1);
  CHECK(best[0].library == "cudnn");
  CHECK(best[0].microseconds == 2.0);
  CHECK(best[0].spread == Approx(0.02));
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  RecordWriter writer(path, made_header());
  writer.append(own);
  writer.append(other);
  CHECK(writer.rounds(own.key()) == 1);
  writer.append(other);
  CHECK(writer.rounds(own.key()) == 2);
  CHECK(read_records(path).records[1].library == "cudnn");
}

TEST_CASE("a row says whose kernels were the fastest") {
  RecordFile file = made_machine();
  for (const std::int64_t batch : {1, 2, 3, 5, 8, 13}) {
    Record own{
        .kind = "attention_decode", .format = "bf16", .shape = {{"batch", batch}, {"context", 512}}, .library = "own"};
    own.bytes = 1e5 * static_cast<double>(batch);
    own.microseconds = 5 + own.bytes / 4e3;
    Record other = own;
    other.library = "cudnn";
    other.microseconds = batch < 4 ? own.microseconds * 1.5 : own.microseconds * 0.9;
    file.records.push_back(own);
    file.records.push_back(other);
  }
  for (const FitOutcome& row : fit_records(file, "made").fits) {
    if (row.key == "attention_decode.bf16")
      CHECK(row.model.fit.on.ends_with("(cudnn 3, own 3)"));
    else
      CHECK(row.model.fit.on.ends_with("a processor"));
  }
}

TEST_CASE("records without a product are no machine") {
  RecordFile file{.header = made_header(), .records = {made_record(1, 2), made_record(2, 3)}};
  CHECK(said<InputError>([&] {
          static_cast<void>(fit_records(file, "made"));
        }).find("no product is among the records") != std::string::npos);
}

}  // namespace
}  // namespace shardplan
