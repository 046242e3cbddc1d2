// Tables of measured points: read strictly, predicted the planner's way, fitted, and judged.
#include <array>
#include <cmath>
#include <functional>

#include "base/errors.h"
#include "costmodel/kernels/kernel_forms.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/engine_times/early.h"
#include "planner/measured/fit.h"
#include "planner/measured/kernel_points.h"
#include "planner/measured/measured_file.h"
#include "planner/measured/published_points.h"
#include "planner/measured/report.h"
#include "planner/measured/static_batches.h"
#include "tests/catch.h"
#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

constexpr const char* kHeader =
    "model,hardware,engine,engine_version,precision,isl,osl,concurrency,gpus,tp,ttft_ms,tpot_ms\n";

CsvTable table_of(const std::string& rows) { return {"points.csv", kHeader + rows}; }

std::string refusal_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("A malformed table is refused with its file, line and column") {
  CHECK(refusal_of([] { CsvTable("a.csv", "x,y\n1,2\n3\n"); }) ==
        "a.csv: line 3: has 1 cells where the header has 2; expected as many cells as columns");
  CHECK(refusal_of([] { CsvTable("a.csv", "x,x\n1,2\n"); }).find("a.csv: line 1, column x") == 0);
  CHECK(refusal_of([] { CsvTable("a.csv", "x\n\"open\n"); }).find("a.csv: line 2: a quotation does not end") == 0);
  CHECK(refusal_of([] {
          (void)read_serving_rows(table_of("llama-3.1-8b,h100-sxm,vllm,,bf16,1024,256,4,1,1,80,slow\n"));
        }).find("points.csv: line 2, column tpot_ms: 'slow'") == 0);
  CHECK(refusal_of([] {
          (void)read_serving_rows(table_of("llama-3.1-8b,h100-sxm,vllm,,bf16,1024,256,-4,1,1,80,8\n"));
        }).find("points.csv: line 2, column concurrency: -4") == 0);
  CHECK(refusal_of([] { (void)read_serving_rows(table_of("")); }).find("holds no rows") != std::string::npos);
  const CsvTable unknown = table_of("llama-9,h100-sxm,vllm,,bf16,1024,256,4,1,1,80,8\n");
  CHECK(refusal_of([&] {
          (void)question_of(read_serving_rows(unknown).front(), unknown);
        }).find("points.csv: line 2, column model") == 0);
}

TEST_CASE("Cells may be quoted, and lines may begin and end as on another system") {
  const CsvTable table("a.csv", "\xEF\xBB\xBFx,y\r\n\"1,5\",\"say \"\"two\"\"\"\r\n\r\n");
  REQUIRE(table.rows().size() == 1);
  CHECK(table.text(table.rows().front(), "x") == "1,5");
  CHECK(table.text(table.rows().front(), "y") == "say \"two\"");
}

// The closed loop over prices without factors, with the factors applied there, is what the planner's own path says.
TEST_CASE("A row is predicted as estimate predicts it") {
  const CsvTable table = table_of(
      "llama-3.1-70b,h100-sxm,vllm,0.19.0,fp8,1024,256,16,8,8,80,8\nqwen3-235b-a22b,h200-sxm,sglang,0.5.9,fp8,4096,512,"
      "32,8,8,80,8\n");
  const auto rows = read_serving_rows(table);
  const auto priced = price_rows(rows, table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(priced[i].legal);
    const Quantity3 row = serve_row(priced[i], shipped_engine_times().resolve(priced[i].key));
    const RowQuestion question = question_of(rows[i], table);
    const Cluster cluster(question.request, question.config.instance_gpus());
    Deployment deployment(question.request, question.config, {}, cluster.collectives());
    const ServingEstimate e = estimate_serving(deployment.serving_input(), question.request.workload);
    CHECK(row.tpot == Approx(e.tpot.value()).epsilon(1e-6));
    CHECK(row.ttft == Approx(e.ttft.value()).epsilon(1e-6));
  }
}

// Rows of made-up measurements: what a table of engine times with given rows says.
struct Made {
  CsvTable table;
  std::vector<ServingRow> rows;
  std::vector<PricedRow> priced;
  std::vector<std::size_t> all;
  explicit Made(const EngineTimesTable& truth)
      : table(table_of(text())), rows(read_serving_rows(table)), priced(price_rows(rows, table)) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Quantity3 q = serve_row(priced[i], truth.resolve(priced[i].key));
      rows[i].measured = {q.ttft, q.tpot, q.throughput};
      all.push_back(i);
    }
  }
  static std::string text() {
    std::string out;
    for (const char* engine : {"vllm,0.19.0", "trtllm,1.1.0"}) {
      for (const int tp : {1, 2, 4, 8}) {
        for (const int c : {4, 16, 64, 128}) {
          for (const char* lengths : {"1024,256", "4096,512"}) {
            out += "qwen3-30b-a3b,h200-sxm," + std::string(engine) + ",fp8," + lengths + "," + std::to_string(c) + "," +
                   std::to_string(tp) + "," + std::to_string(tp) + ",80,8\n";
          }
        }
      }
    }
    return out;
  }
};

EngineTimesTable made_times() {
  return read_engine_times(R"({"schema": "shardplan.engine_times/1",
    "priors": {"step": {"value": "600 us"}, "sequence": {"value": "12 us"}, "layer": {"value": "1 us"}, "prefill_launch": {"value": "100 us"},
               "request": {"value": "18 ms"}, "prompt_token": {"value": "2 us"}},
    "levels": [{"term": "step", "by": ["engine"], "spread": 1.0, "mechanism": "m"},
               {"term": "grouped", "by": [], "spread": 0.5, "mechanism": "m"},
               {"term": "grouped", "by": ["engine", "architecture"], "spread": 0.5, "mechanism": "m"}]})",
                           "made");
}

TEST_CASE("Residuals from elsewhere: the closed loop's own given back make the same fit, others move it") {
  EngineTimesTable truth = made_times();
  truth.rows = {{0, {"trtllm"}, 0.5, 0}, {2, {"vllm", "", "hopper"}, 1.4, 0}};
  const Made made(truth);
  FitOptions options;
  const FitPoints points{made.rows, made.priced, made.all};
  const EngineTimesTable plain = fit_all(points, made_times(), options);
  double factor = 1;
  options.predicted_ttft_deviation = options.ttft_deviation;
  options.predict = [&](const EngineTimesTable& table) {
    std::vector<Quantity3> out;
    for (const PricedRow& row : made.priced) {
      out.push_back(serve_row(row, table.resolve(row.key)));
      out.back().tpot *= factor;
    }
    return out;
  };
  const TimesKey key = made.priced.front().key;
  const double expected = plain.resolve(key).host.per_step.value();
  CHECK(fit_all(points, made_times(), options).resolve(key).host.per_step.value() == Approx(expected).epsilon(1e-3));
  factor = 1.05;  // predictions 5 % long: the fit shortens what it can
  CHECK(fit_all(points, made_times(), options).resolve(key).host.per_step.value() < expected);
}

TEST_CASE("A fit finds the ratios that its points were made with") {
  EngineTimesTable truth = made_times();
  truth.rows = {{0, {"trtllm"}, 0.5, 0}, {2, {"vllm", "", "hopper"}, 1.4, 0}};
  const Made made(truth);
  FitOptions sure;
  sure.tpot_deviation = 0.001;
  sure.ttft_deviation = 0.01;
  const EngineTimesTable fitted = fit_all({made.rows, made.priced, made.all}, made_times(), sure);
  for (const PricedRow& row : made.priced) {
    const EngineTimes want = truth.resolve(row.key);
    const EngineTimes got = fitted.resolve(row.key);
    CHECK(got.host.per_step.value() == Approx(want.host.per_step.value()).epsilon(0.02));
    CHECK(got.factors.of[index_of(StepPart::kGrouped)] ==
          Approx(want.factors.of[index_of(StepPart::kGrouped)]).epsilon(0.02));
    CHECK(got.spread[static_cast<std::size_t>(TimeTerm::kStep)] < 0.1);
  }
  const std::string text = engine_times_text(fitted, "made");
  CHECK(engine_times_text(read_engine_times(text, "again"), "made") == text);
}

TEST_CASE("Four points of one deployment become an overlay that says how much slower it is") {
  EngineTimesTable truth = made_times();
  truth.levels.push_back({TimeTerm::kDecode, {}, 0.3, "m"});
  truth.rows = {{3, {}, 1.5, 0}};
  Made made(truth);
  const std::vector<std::size_t> four{0, 9, 20, 31};  // all of the first engine
  const EngineTimesTable overlay = fit_overlay({made.rows, made.priced, four}, made_times());
  CHECK(overlay.is_overlay);
  const EngineTimesTable both = with_overlay(made_times(), overlay);
  // The made-up slowness is a third of every step; what four points leave of it is a few per cent.
  double sum = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const EngineTimes times = both.resolve(made.priced[i].key);
    const double error = std::abs(serve_row(made.priced[i], times).tpot / *made.rows[i].measured.tpot - 1);
    CHECK(error < 0.05);
    sum += error;
    CHECK(row_spread(made.priced[i], times).tpot <
          row_spread(made.priced[i], made_times().resolve(made.priced[i].key)).tpot);
  }
  CHECK(sum / 32 < 0.025);
  // Another engine is not spoken of.
  const Quantity3 other = serve_row(made.priced[40], both.resolve(made.priced[40].key));
  CHECK(other.tpot == Approx(serve_row(made.priced[40], made_times().resolve(made.priced[40].key)).tpot));
}

TEST_CASE("A level without a row widens the interval and leaves the value") {
  EngineTimesTable table = made_times();
  const TimesKey known{.engine = "vllm", .architecture = "hopper"};
  const EngineTimes before = table.resolve(known);
  table.rows = {{2, {"vllm", "", "hopper"}, 1.2, 0.05}};
  const EngineTimes after = table.resolve(known);
  const auto grouped = static_cast<std::size_t>(TimeTerm::kGrouped);
  CHECK(before.spread[grouped] == Approx(std::sqrt(0.5)));
  CHECK(after.spread[grouped] == Approx(0.05));
  CHECK(after.factors.of[index_of(StepPart::kGrouped)] == Approx(1.2));
  CHECK(before.unseen[grouped]);
  const EngineTimes refresh = table.resolve({.engine = "vllm", .architecture = "blackwell-ultra"});
  CHECK(refresh.factors.of[index_of(StepPart::kGrouped)] == Approx(1));
}

TEST_CASE("A bad document of engine times names the place") {
  CHECK(refusal_of([] { (void)read_engine_times("{}", "t.json"); }).find("t.json") == 0);
  CHECK(
      refusal_of([] {
        (void)read_engine_times(
            R"({"schema": "shardplan.engine_times/1", "levels": [{"term": "stepp", "by": [], "spread": 1, "mechanism": "m"}]})",
            "t.json");
      }).find("'stepp' is no term") != std::string::npos);
  CHECK(refusal_of([] {
          (void)read_engine_times(
              R"({"schema": "shardplan.engine_times/1", "rows": [{"term": "step", "value": 1, "spread": 0}]})",
              "t.json");
        }).find("no level") != std::string::npos);
}

TEST_CASE("Statistics of known errors") {
  std::vector<ServingRow> rows(4);
  std::vector<Judged> judged(4);
  const std::array<double, 4> ratio{0.9, 1.0, 1.2, 2.0};
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i].measured.tpot = 0.01;
    judged[i].predicted.tpot = 0.01 * ratio[i];
    judged[i].spread.tpot = 0.2;  // p10..p90 is a factor of 1.29 either way
  }
  const ErrorStats e = errors_of(rows, judged, [](std::size_t) { return true; }).tpot;
  CHECK(e.count == 4);
  CHECK(e.mean_ape == Approx((0.1 + 0 + 0.2 + 1) / 4));
  CHECK(e.median_ape == Approx((0.1 + 0.2) / 2));  // of 0, 0.1, 0.2, 1
  CHECK(e.p90_ape == Approx(0.2 + 0.7 * (1 - 0.2)));
  CHECK(e.interval_coverage.value() == Approx(0.75));
}

// A kernel table that the profile's own row made has no error, and one that is made twice as slow has its bias.
TEST_CASE("Kernel tables are predicted by the rows of the machine's profile") {
  const HardwareProfile hardware = load_hardware("h200-sxm");
  const KernelModel& row = hardware.kernel_models.at("gemm.bf16");
  const KernelDevice device{static_cast<double>(hardware.device.sm_count), hardware.device.peak[0].value() * 1e-6,
                            hardware.device.memory_bandwidth.value() * 1e-6};
  MeasuredTable table;
  table.path = "gemm.csv";
  table.system = "h200-sxm";
  table.family = "gemm";
  table.backend = "vllm";
  table.table = "gemm_perf";
  table.swept = "m";
  table.columns = {"n", "k"};
  table.constants["gemm_dtype"] = "bfloat16";
  for (const double slower : {1.0, 2.0}) {
    for (const double m : {1.0, 64.0, 4096.0}) {
      table.cells.push_back({table.rows.size(), m,
                             slower * tile_gemm_us({m, 4096, 4096}, device, row.parameters.data(), row.tiles),
                             2 + static_cast<int>(table.rows.size())});
    }
    table.rows.push_back({"4096", "4096"});
    table.lines.push_back(static_cast<int>(table.rows.size()) + 1);
  }
  const PointReport report = validate_kernels({table}, "", 2);
  REQUIRE(report.points.size() == 6);
  CHECK(report.overall.count == 6);
  for (std::size_t i = 0; i < 3; ++i) CHECK(report.points[i].predicted == Approx(report.points[i].measured));
  for (std::size_t i = 3; i < 6; ++i) CHECK(report.points[i].predicted == Approx(report.points[i].measured / 2));
  CHECK(report.overall.mean_ape == Approx(0.25));
  CHECK(report.overall.interval_coverage.value() == Approx(0.5));
  REQUIRE(report.worst.size() == 2);
  CHECK(report.points[report.worst.front().point].line == 3);
  CHECK(report.worst.front().what.find("n=4096, k=4096, m=") != std::string::npos);
  CHECK_FALSE(report.worst.front().breakdown.empty());
  bool has_row_group = false;
  for (const PointGroup& g : report.groups)
    has_row_group = has_row_group || (g.by == "row" && g.name == "h200-sxm gemm.bf16" && g.errors.count == 6);
  CHECK(has_row_group);
}

constexpr const char* kPublished =
    "id,hw,gpus,engine,engine_version,model,weight_dtype,kv_dtype,tp,pp,dp_attention,ep,serving_mode,isl,osl,"
    "concurrency_or_batch,measured_metric,value,unit,"
    "notes\n";

TEST_CASE("Published figures are read by metric, and what a closed form does not answer is counted") {
  const std::string table =
      std::string(kPublished) +
      "a_1,H200,1,TensorRT-LLM,0.20,Llama-3.3-70B,fp8,fp8,1,1,1,,offline,1000,1000,saturated,total_output_throughput,"
      "2744,tok/s,\n"
      "a_2,H200,8,TensorRT-LLM,0.20,Llama-3.3-70B,fp8,fp8,8,1,1,,offline,1000,1000,saturated,total_output_throughput,"
      "12745,tok/s,\n"
      "a_3,H200,8,vLLM,2025-10,Llama-3.3-70B,fp8,fp8,8,1,1,,closed "
      "loop,1024,8192,4,interactivity_median,125,tok/s/user,\n"
      "a_4,H200,8,vLLM,2025-10,Llama-3.3-70B,fp8,fp8,8,1,1,,disagg,1024,8192,4,tpot_median,8,ms,\n";
  const PublishedRows rows = read_published_rows(CsvTable("published.csv", table));
  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[1].value == Approx(12745.0 / 8));
  CHECK(rows.rows[1].saturated);
  CHECK(rows.rows[2].quantity == SteadyQuantity::kTpot);
  CHECK(rows.rows[2].value == Approx(8));
  CHECK(rows.left_out.size() == 1);
  const PointReport report = validate_published(CsvTable("published.csv", table), shipped_engine_times(), 3);
  REQUIRE(report.points.size() == 4);  // and one of scaling from one GPU to eight
  CHECK(report.overall.count == 3);    // which is a ratio of two that count already
  CHECK(measured_points(report) == 3);
  CHECK(report.points.back().measured == Approx(12745.0 / 8 / 2744));
  CHECK(report.points.back().predicted == Approx(report.points[1].predicted / report.points[0].predicted));
  // Neither another load nor another cache is the same deployment on more GPUs.
  const std::string others =
      "a_5,H200,4,TensorRT-LLM,0.20,Llama-3.3-70B,fp8,bf16,4,1,1,,offline,1000,1000,saturated,output_throughput,9000,"
      "tok/"
      "s,\n"
      "a_6,H200,2,TensorRT-LLM,0.20,Llama-3.3-70B,fp8,fp8,2,1,1,,offline,1000,1000,64,output_throughput,3000,tok/s,\n";
  const PointReport more = validate_published(CsvTable("published.csv", table + others), shipped_engine_times(), 3);
  CHECK(measured_points(more) == 5);
  CHECK(more.points.size() == 6);
  CHECK(refusal_of([&] {
          (void)read_published_rows(
              CsvTable("published.csv", table + "a_5,H200,1,vLLM,1,m,fp8,fp8,1,1,1,,x,1,1,1,tpot_mean,fast,ms,\n"));
        }).find("published.csv: line 6, column value") == 0);
}

// Decode steps of an engine that launches each kernel are no shorter than their launches, and grow with the batch.
TEST_CASE("Static batches are predicted with every kernel launched from the host") {
  const std::string head =
      "model,hardware,tensor_parallel,prompt_size,batch_size,token_size,prompt_ms_median,token_ms_median\n";
  const std::string rows =
      "llama2-70b,h100-80gb,8,512,1,128,53.4,29.8\nllama2-70b,h100-80gb,8,512,64,128,2936,50.2\nbloom-176b,a100-80gb,8,"
      "512,1,128,174,48.8\n";
  const CsvTable table("batches.csv", head + rows);
  const PointReport report = validate_static_batches(table, shipped_engine_times(), false, 3);
  REQUIRE(report.points.size() == 6);
  CHECK(report.overall.count == 6);
  const double launched = 1e3 * 80 *
                          early_engine_times(shipped_engine_times())
                              .resolve(read_static_batches(table).priced.front().key)
                              .host.prefill_launch_per_layer.value();
  CHECK(report.points[0].predicted > launched);
  CHECK(report.points[2].predicted > report.points[0].predicted);
  CHECK(refusal_of([&] {
          (void)read_static_batches(CsvTable("batches.csv", head + "llama2-70b,h100-80gb,8,512,1.5,128,53.4,29.8\n"));
        }).find("batches.csv: line 2, column batch_size") == 0);
  SECTION("and a fit of them explains what made them") {
    StaticBatches batches = read_static_batches(table);
    const EngineTimesTable early = early_engine_times(shipped_engine_times());
    for (std::size_t i = 0; i < batches.rows.size(); ++i) {
      const Quantity3 said = serve_row(batches.priced[i], early.resolve(batches.priced[i].key));
      batches.rows[i].measured = {.ttft = said.ttft, .tpot = said.tpot, .throughput = {}};
    }
    const EngineTimesTable again =
        with_overlay(shipped_engine_times(), fit_early_engine(batches, {0, 1, 2}, shipped_engine_times()));
    for (std::size_t i = 0; i < batches.rows.size(); ++i) {
      CHECK(serve_row(batches.priced[i], again.resolve(batches.priced[i].key)).tpot ==
            Approx(*batches.rows[i].measured.tpot).epsilon(0.1));
    }
  }
}

// Prices move, and times fitted beside them must follow: refit with `calibrate fit --serving` where this fails.
TEST_CASE("The shipped times of the early engine are what its batches give today") {
  const auto path = shared_path("measured/kernels/splitwise/perf_model_validation.csv");
  if (!path) return;
  const StaticBatches batches = read_static_batches(read_measured(*path).table());
  std::vector<std::size_t> use;
  for (std::size_t i = 0; i < batches.rows.size(); ++i) {
    if (batches.priced[i].legal && batches.priced[i].holds) use.push_back(i);
  }
  const EngineTimesTable fitted = fit_early_engine(batches, use, shipped_engine_times());
  const EngineTimesTable& shipped = early_engine_overlay();
  REQUIRE(fitted.levels.size() == shipped.levels.size());
  for (std::size_t i = 0; i < fitted.levels.size(); ++i) {
    CHECK(fitted.levels[i].term == shipped.levels[i].term);
    CHECK(fitted.levels[i].mechanism == shipped.levels[i].mechanism);
  }
  REQUIRE(fitted.rows.size() == shipped.rows.size());
  for (std::size_t i = 0; i < fitted.rows.size(); ++i) {
    INFO(name_of(fitted.levels[fitted.rows[i].level].term));
    CHECK(fitted.rows[i].of == shipped.rows[i].of);
    CHECK(std::abs(std::log(fitted.rows[i].value / shipped.rows[i].value)) < 0.05);
  }
}

}  // namespace
}  // namespace shardplan
