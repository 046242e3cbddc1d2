// Fits recover what made the data, say what they left out, and refuse malformed tables by file, line and column.
#include <cmath>
#include <fstream>

#include "base/errors.h"
#include "calibrate/fit/fit_tables.h"
#include "calibrate/fit/foreign_tables.h"
#include "calibrate/fit/judge_tables.h"
#include "calibrate/fit/kernel_samples.h"
#include "calibrate/fit/measurement_files.h"
#include "calibrate/fit/profile_rows.h"
#include "costmodel/collectives/collective.h"
#include "costmodel/kernels/kernel_forms.h"
#include "hwprofiles/fabric.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"
#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

const char* const kMeta = R"({"system": "h200_sxm", "family": "gemm", "backend": "vllm", "version": "0.24.0", "table": "gemm_perf",
                              "constant_columns": {"gemm_dtype": "bfloat16"}, "code_tables": {}})";

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Parameters away from where the fit starts.
std::vector<double> made_parameters() {
  std::vector<double> parameters;
  for (const ParameterSpec& spec : form_parameters(KernelForm::kTileGemm)) parameters.push_back(spec.neutral);
  parameters[0] = 4.0;    // t0
  parameters[1] = 0.70;   // ec
  parameters[2] = 0.75;   // em
  return parameters;
}

// A table of bf16 products that the form itself made.
std::string made_table(const HardwareProfile& hardware) {
  const KernelDevice device{static_cast<double>(hardware.device.sm_count), hardware.device.peak[0].value() * 1e-6,
                            hardware.device.memory_bandwidth.value() * 1e-6};
  const std::vector<TileShape> tiles{{64, 64}, {64, 128}, {128, 64}, {128, 128}, {64, 256}, {256, 64}, {128, 256}, {256, 128}};
  const std::vector<double> parameters = made_parameters();
  std::string text = "n,k,m=1,m=16,m=64,m=256,m=1024,m=4096\n";
  for (const double n : {256, 1024, 2048, 4096, 8192, 16384}) {
    for (const double k : {256, 1024, 2048, 4096, 8192, 16384}) {
      text += std::to_string(static_cast<int>(n)) + "," + std::to_string(static_cast<int>(k));
      for (const double m : {1, 16, 64, 256, 1024, 4096}) text += "," + std::to_string(tile_gemm_us({m, n, k}, device, parameters.data(), tiles));
      text += "\n";
    }
  }
  return text;
}

std::string refusal(const std::string& path) {
  try {
    static_cast<void>(read_measurements(path));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("A fit recovers the form that made a table, and holds on shapes it did not see") {
  const ScratchFolder folder;
  const HardwareProfile hardware = load_hardware("h200-sxm");
  write(folder.path("gemm.csv"), made_table(hardware));
  write(folder.path("gemm.csv.meta.json"), kMeta);
  const TableFits fits = fit_tables(read_measurements(folder.path("gemm.csv")), hardware);
  REQUIRE(fits.fits.size() == 1);
  const FitOutcome& fit = fits.fits.front();
  CHECK(fit.key == "gemm.bf16");
  CHECK(fit.held_out > 0);
  CHECK(fit.model.fit.held_out_median < 0.01);
  CHECK(fit.model.parameters[0] == Approx(4.0).epsilon(0.05));
  CHECK(fit.model.parameters[2] == Approx(0.75).epsilon(0.05));
  SECTION("twice the same") {
    const TableFits again = fit_tables(read_measurements(folder.path("gemm.csv")), hardware);
    CHECK(again.fits.front().model.parameters == fit.model.parameters);
  }
  SECTION("and its row is read back by the reader of profiles") {
    const std::string text = with_rows(R"({"schema": "hardware-1", "extends": "h200-sxm", "name": "ours"})", "ours.json", fits.fits);
    const HardwareProfile ours = read_hardware(text, "ours.json");
    const KernelModel& row = ours.kernel_models.at("gemm.bf16");
    CHECK(row.transferred_from.empty());
    CHECK(row.fit.points == fit.model.fit.points);
    for (std::size_t i = 0; i < row.parameters.size(); ++i) CHECK(row.parameters[i] == Approx(fit.model.parameters[i]).epsilon(2e-2));
  }
}

TEST_CASE("What physics forbids is left out and counted") {
  const ScratchFolder folder;
  const HardwareProfile hardware = load_hardware("h200-sxm");
  std::string table = made_table(hardware);
  table += "8192,4097,0.001,0.001,0.001,0.001,0.001,0.001\n";   // faster than the peak and than the memory
  write(folder.path("gemm.csv"), table);
  write(folder.path("gemm.csv.meta.json"), kMeta);
  const std::vector<FitInput> inputs = gemm_inputs(read_measured_table(folder.path("gemm.csv")), hardware);
  REQUIRE(inputs.size() == 1);
  CHECK(inputs.front().dropped.at("faster than the peak") == 6);
}

TEST_CASE("A malformed table is refused with its file, line and column") {
  const ScratchFolder folder;
  const std::string path = folder.path("gemm.csv");
  write(path + ".meta.json", kMeta);
  write(path, "n,k,m=1,m=2\n64,64,2.5,fast\n");
  CHECK(refusal(path).find("gemm.csv:2: column m=2") != std::string::npos);
  write(path, "n,k,m=1,m=2\n64,64,2.5\n");
  CHECK(refusal(path).find("gemm.csv:2") != std::string::npos);
  write(path, "n,k,m=1,x\n64,64,2.5,1\n");
  CHECK(refusal(path).find("gemm.csv:1: column x") != std::string::npos);
}

TEST_CASE("Output of nccl-tests is read with its collective and ranks") {
  const ScratchFolder folder;
  const std::string path = folder.path("run.txt");
  write(path,
        "# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0\n#  Rank  1 Group  0\n"
        "        1024           256     float     sum      -1    10.40    0.10    0.10      0    10.20    0.10    0.10      0\n");
  const MeasuredTable table = read_measurements(path).front();
  REQUIRE(table.cells.size() == 1);
  CHECK(table.cells.front().swept == 1024);
  CHECK(table.cells.front().microseconds == Approx(10.4));
  CHECK(table.text(0, "op_name") == "all_reduce");
  CHECK(table.number(0, "num_gpus") == 2);
}

TEST_CASE("Records are read line by line, and a bad one is named by its line") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  const std::string good = R"({"kind": "gemm", "shape": {"m": 64, "n": 4096, "k": 4096}, "format": "bf16", "microseconds": 12.3, "spread": 0.01, "device": "H200"})";
  write(path, good + "\n");
  const MeasuredTable table = read_measurements(path).front();
  CHECK(table.family == "gemm");
  CHECK(table.cells.front().swept == 64);
  write(path, good + "\n{\"kind\": \"gem\"}\n");
  CHECK(refusal(path).find("records.jsonl:2") != std::string::npos);
}

TEST_CASE("Lines of calibrate run are records as well; its header and small operations are passed over") {
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  write(path, R"({"kind": "header", "schema": "shardplan.records/1", "backend": "cuda", "device": "H200"}
{"kind": "gemm", "format": "fp8", "m": 64, "n": 4096, "k": 2048, "batch": 1, "ranks": 1, "flops": 1, "bytes": 1, "microseconds": 12.5, "spread": 0, "samples": 9, "device": "H200"}
{"kind": "gemm", "format": "fp8", "m": 64, "n": 4096, "k": 2048, "batch": 1, "ranks": 1, "flops": 1, "bytes": 1, "microseconds": 11.5, "spread": 0.2, "samples": 7, "device": "H200"}
{"kind": "gemm", "format": "fp8", "m": 64, "n": 4096, "k": 2048, "batch": 1, "ranks": 1, "flops": 1, "bytes": 1, "microseconds": 14, "spread": 0, "samples": 9, "device": "H200"}
{"kind": "gemm", "format": "fp8", "m": 65, "n": 4096, "k": 2048, "batch": 1, "ranks": 1, "flops": 1, "bytes": 1, "microseconds": 14, "spread": 0, "samples": 9, "device": "H200"}
{"kind": "elementwise", "format": "", "op": "norm", "rows": 4, "row_bytes": 64, "ranks": 1, "microseconds": 1.0, "spread": 0, "samples": 9, "device": "H200"}
{"kind": "all_reduce", "format": "", "group": 8, "message_bytes": 4096, "ranks": 8, "microseconds": 20, "spread": 0, "samples": 9, "device": "H200"}
)");
  const auto tables = read_measurements(path);
  REQUIRE(tables.size() == 2);
  const MeasuredTable& comm = tables[0].family == "comm" ? tables[0] : tables[1];
  const MeasuredTable& gemm = tables[0].family == "comm" ? tables[1] : tables[0];
  CHECK(comm.cells.front().swept == 4096);
  CHECK(comm.number(0, "num_gpus") == 8);
  CHECK(comm.text(0, "nccl_dtype") == "int8");
  REQUIRE(gemm.cells.size() == 2);   // three rounds of the first are one, its fastest
  CHECK(gemm.rows.size() == 2);
  CHECK(gemm.cells.front().swept == 64);
  CHECK(gemm.cells.front().microseconds == 11.5);
  CHECK(gemm.cells.back().swept == 65);
  CHECK(gemm.number(0, "k") == 2048);
  CHECK(gemm.text(0, "gemm_dtype") == "fp8");
}

TEST_CASE("Sampling and unevenly loaded experts of calibrate run become samples of their rows") {
  const HardwareProfile hardware = load_hardware("h200-sxm");
  const ScratchFolder folder;
  const std::string path = folder.path("records.jsonl");
  std::string text;
  for (const int rows : {1, 2, 4, 8, 16, 32}) {
    text += R"({"kind": "sampling", "format": "", "op": "sample", "row_bytes": 512004, "ranks": 1, "samples": 9, "rows": )" + std::to_string(rows) +
            ", \"microseconds\": " + std::to_string(4 + rows * 0.512004 / (4.8 * 0.5)) + "}\n";
  }
  text += R"({"kind": "sampling", "format": "", "op": "sample_top_p", "rows": 4, "row_bytes": 512004, "ranks": 1, "microseconds": 99}
{"kind": "grouped_gemm", "format": "bf16", "tokens": 64, "rows": 100, "experts": 16, "per_token": 4, "n": 2048, "k": 4096, "active": 9, "fullest": 40, "tiles_16": 12, "tiles_32": 10, "tiles_64": 9, "tiles_128": 9, "ranks": 1, "flops": 2516582400, "microseconds": 300}
{"kind": "grouped_gemm", "format": "bf16", "tokens": 64, "rows": 100, "experts": 16, "per_token": 4, "n": 2048, "k": 4096, "active": 9, "fullest": 40, "tiles_16": 12, "tiles_32": 10, "tiles_64": 9, "tiles_128": 9, "ranks": 1, "flops": 3355443200, "microseconds": 300}
)";
  write(path, text);
  const auto tables = read_measurements(path);
  REQUIRE(tables.size() == 2);
  const MeasuredTable& sampling = tables[0].family == "sampling" ? tables[0] : tables[1];
  const MeasuredTable& moe = tables[0].family == "sampling" ? tables[1] : tables[0];
  REQUIRE(sampling.cells.size() == 6);   // the drawn one is none of this row
  const TableFits fits = fit_tables({sampling}, hardware);
  REQUIRE(fits.fits.size() == 1);
  CHECK(fits.fits[0].key == "sampling.sample");
  CHECK(fits.fits[0].model.parameters[0] == Approx(4).epsilon(0.05));
  CHECK(fits.fits[0].model.parameters[2] == Approx(0.5).epsilon(0.1));
  const auto inputs = experts_inputs(moe, hardware);
  REQUIRE(inputs.size() == 1);
  std::vector<double> parameters;
  for (const ParameterSpec& spec : form_parameters(KernelForm::kGroupedGemm)) parameters.push_back(spec.start);
  ExpertsShape shape{.tokens = 25, .per_token = 4, .experts = 16, .rows = 100, .active = 9, .tiles = {12, 10, 9, 9}, .hidden = 4096, .width = 1024};
  const KernelDevice device{132, hardware.device.peak[0].value() * 1e-6, 4.8e6};
  CHECK(inputs[0].predict(0, parameters.data()) == Approx(grouped_gemm_us(shape, device, parameters.data())).epsilon(1e-6));
  shape.matrices = 2;   // the same n without a gate: experts twice as wide
  shape.width = 2048;
  CHECK(inputs[0].predict(1, parameters.data()) == Approx(grouped_gemm_us(shape, device, parameters.data())).epsilon(1e-6));
}

TEST_CASE("More rows or tokens never make a kernel faster, and none beats the peak") {
  const HardwareProfile hardware = load_hardware("h200-sxm");
  const KernelDevice device{132, 989e6, 4.8e6};
  for (const auto& [key, row] : hardware.kernel_models) {
    INFO(key);
    double last = 0;
    bool grows = true;
    bool bounded = true;
    for (double m = 1; m <= 65536; m *= 2) {
      double us = 0;
      double least = 0;
      switch (row.form) {
        case KernelForm::kTileGemm:
          us = tile_gemm_us({m, 4096, 4096}, device, row.parameters.data(), row.tiles);
          least = 2 * m * 4096 * 4096 / device.flops_per_us;
          break;
        case KernelForm::kContextAttention:
          us = context_attention_us({1, m, m, m * (m + 1) / 2, 32, 8, 128, 128, 2, 0}, device, row.parameters.data());
          least = 4 * 128 * 32 * m * (m + 1) / 2 / device.flops_per_us;
          break;
        case KernelForm::kDecodeAttention:
          us = decode_attention_us({m, 2048, 32, 8, 128, 128, 512}, device, row.parameters.data());
          least = m * 2048 * 8 * 512 / device.bytes_per_us;
          break;
        case KernelForm::kGroupedGemm: continue;
      }
      grows = grows && us >= last;
      bounded = bounded && us >= least;
      last = us;
    }
    CHECK(grows);
    CHECK(bounded);
  }
}

// What a catalog's machine has of a row's table is what a fit of that table gives, to the digits that are kept.
void check_refit(const FitOutcome& fit, const HardwareProfile& hardware) {
  INFO(hardware.name << " " << fit.key);
  const std::size_t at = fit.key.find('@');
  const std::string suffix = at == std::string::npos ? "" : fit.key.substr(at);
  for (std::size_t r = 0; r < fit.collectives.size(); ++r) {
    const CollectiveCoefficients& row = hardware.collectives.at(fit.collectives[r] + suffix);
    const double* p = fit.model.parameters.data() + 5 * r;
    CHECK(row.fit.on.find(fit.model.fit.on + ";") != std::string::npos);
    CHECK(row.fit.held_out_median == Approx(fit.model.fit.held_out_median).margin(6e-4));
    CHECK(row.fit.points == fit.model.fit.points);
    CHECK(row.base.value() * 1e6 == Approx(p[0]).epsilon(2e-3));
    CHECK(row.per_rank.value() * 1e6 == Approx(p[1]).epsilon(2e-3));
    CHECK(row.efficiency == Approx(p[2]).epsilon(2e-3));
    CHECK(static_cast<double>(row.half.value()) * 1e-6 == Approx(p[3]).epsilon(2e-3));
    CHECK(row.ramp == Approx(p[4]).epsilon(2e-3));
  }
  if (!fit.collectives.empty()) return;
  const KernelModel& row = hardware.kernel_models.at(fit.key);
  CHECK(row.fit.on.find(fit.model.fit.on + ";") != std::string::npos);
  CHECK(row.fit.points == fit.model.fit.points);
  CHECK(row.fit.held_out_median == Approx(fit.model.fit.held_out_median).margin(6e-4));
  CHECK(row.fit.held_out_mean == Approx(fit.model.fit.held_out_mean).margin(6e-4));
  REQUIRE(row.parameters.size() == fit.model.parameters.size());
  for (std::size_t i = 0; i < row.parameters.size(); ++i) CHECK(row.parameters[i] == Approx(fit.model.parameters[i]).epsilon(2e-3));
}

TEST_CASE("A fit of the tables that the catalog names gives the catalog's rows") {
  const auto folder = shared_path("measured/kernels");
  if (!folder) return;
  struct Machine {
    const char* name;
    const char* folder;
    std::vector<const char*> tables;
  };
  const Machine machines[] = {
      {"h200-sxm", "h200_sxm", {"comm__nccl__2.29.2__nccl_perf", "comm__vllm__0.24.0__custom_allreduce_perf", "mla__vllm__0.14.0__generation_mla_perf"}},
      {"h100-sxm", "h100_sxm", {"comm__nccl__2.29.2__nccl_perf", "comm__trtllm__1.3.0rc20__custom_allreduce_perf", "comm__vllm__0.24.0__custom_allreduce_perf"}},
      {"b200-sxm", "b200_sxm", {"comm__nccl__2.29.2__nccl_perf", "comm__vllm__0.24.0__custom_allreduce_perf"}},
      {"a100-sxm-80gb", "a100_sxm", {"comm__nccl__2.27.3__nccl_perf", "comm__vllm__0.14.0__custom_allreduce_perf"}},
  };
  for (const Machine& machine : machines) {
    const HardwareProfile hardware = load_hardware(machine.name);
    std::vector<MeasuredTable> tables;
    for (const char* table : machine.tables) tables.push_back(read_measured_table(*folder + "/" + machine.folder + "/" + table + ".csv"));
    for (const FitOutcome& fit : fit_tables(tables, hardware).fits) check_refit(fit, hardware);
  }
}

TEST_CASE("A profile without a row for small messages is judged by the one it has") {
  HardwareProfile hardware = load_hardware("h200-sxm");
  std::erase_if(hardware.collectives, [](const auto& row) { return row.first.starts_with("ll_"); });
  MeasuredTable table;
  table.family = "comm";
  table.backend = "nccl";
  table.version = "2.29.2";
  table.table = "nccl_perf";
  table.columns = {"op_name", "nccl_dtype", "num_gpus"};
  for (const double bytes : {1024.0, 65536.0, 16777216.0}) {
    table.cells.push_back({table.rows.size(), bytes, 30.0, 1});
    table.rows.push_back({"all_gather", "int8", "8"});
    table.lines.push_back(1);
  }
  const std::vector<JudgedRow> rows = judge_table(table, hardware, 1);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows.front().has_row);
  CHECK(rows.front().key == "all_gather");
  const std::vector<int> group{0, 1, 2, 3, 4, 5, 6, 7};
  const GroupLinks links = Fabric(hardware, 8).links(group);
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const CollectiveRequest request{.kind = CollectiveKind::kAllGather, .message_bytes = table.cells[i].swept, .sent_bytes = 0, .source = {}};
    CHECK(rows.front().samples[i].predicted_us == Approx(price_collective(request, links, hardware, PriceMode::kCalibrated).time.value() * 1e6).epsilon(1e-6));
  }
  hardware.collectives.erase("all_gather");
  CHECK_FALSE(judge_table(table, hardware, 1).front().has_row);
}

TEST_CASE("Of a library's releases the newest answers, and of several libraries that of most samples is plain") {
  const HardwareProfile hardware = load_hardware("h200-sxm");
  const auto made = [&](const char* backend, const char* version, double slower, int columns) {
    MeasuredTable table;
    table.family = "gemm";
    table.backend = backend;
    table.version = version;
    table.table = "gemm_perf";
    table.columns = {"n", "k"};
    const KernelDevice device{static_cast<double>(hardware.device.sm_count), hardware.device.peak[0].value() * 1e-6, hardware.device.memory_bandwidth.value() * 1e-6};
    const KernelModel& row = hardware.kernel_models.at("gemm.bf16");
    for (int n = 0; n < columns; ++n) {
      for (const double m : {1.0, 64.0, 1024.0}) {
        const GemmShape shape{m, 1024.0 * (n + 1), 4096};
        table.cells.push_back({table.rows.size(), m, slower * tile_gemm_us(shape, device, row.parameters.data(), row.tiles), 1});
      }
      table.rows.push_back({std::to_string(1024 * (n + 1)), "4096"});
      table.lines.push_back(1);
    }
    return table;
  };
  const TableFits fits = fit_tables({made("vllm", "0.9.0", 3, 20), made("trtllm", "1.0", 1, 24), made("vllm", "0.24.0", 1, 20)}, hardware);
  REQUIRE(fits.fits.size() == 2);
  CHECK(fits.fits[0].key == "gemm.bf16");
  CHECK(fits.fits[0].model.fit.on.find("trtllm 1.0") != std::string::npos);
  CHECK(fits.fits[1].key == "gemm.bf16@vllm");
  CHECK(fits.fits[1].model.fit.on.find("vllm 0.24.0") != std::string::npos);
}

TEST_CASE("Tables of another project are told by their head, and those of one kind are one") {
  const ScratchFolder folder;
  const std::string gemm = folder.path("gemm_h20_data.csv");
  write(gemm, "m,k,n,latency_us,mfu\n16,2048,6144,10.63,0.128\n");
  const MeasuredTable products = read_measurements(gemm).front();
  CHECK(products.system == "h20-96gb");
  CHECK(products.cells.front().swept == 16);
  CHECK(products.number(0, "n") == 6144);
  write(folder.path("mha_decode_h20_32x8x128.csv"), "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,1,1024,9.95,0.01\n");
  write(folder.path("mha_decode_h20_64x2x128.csv"), "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,2,4096,13.91,0.03\n");
  std::vector<MeasuredTable> two = read_measurements(folder.path("mha_decode_h20_32x8x128.csv"));
  two.push_back(read_measurements(folder.path("mha_decode_h20_64x2x128.csv")).front());
  const std::vector<MeasuredTable> one = merged_alike(two);
  REQUIRE(one.size() == 1);
  REQUIRE(one.front().cells.size() == 2);
  CHECK(one.front().number(one.front().cells[1].row, "num_heads") == 64);
  CHECK(one.front().cells[1].swept == 4095);   // the new token's own position is not cached yet
  write(gemm, "m,k,n,latency_us,mfu\n16,2048,6144,fast,0.128\n");
  CHECK(refusal(gemm).find("gemm_h20_data.csv:2: column latency_us") != std::string::npos);
}

}  // namespace
}  // namespace shardplan
