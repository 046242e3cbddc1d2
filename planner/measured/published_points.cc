#include "planner/measured/published_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/errors.h"
#include "planner/measured/accuracy.h"
#include "planner/measured/prediction.h"
#include "planner/measured/serving_points.h"

namespace shardplan {
namespace {

constexpr double kMost = 1e12;
constexpr std::int64_t kSaturated = 100'000;  // requests: more than any deployment holds

// The place of scaling behind the steady state's quantities in a report.
constexpr std::uint16_t kScaling = 3;

enum Grouping : std::size_t { kDevice, kModel, kEngine, kSource, kWidths, kLengths, kLoad, kStated };

// The number that a cell begins with: "1 (as the file says)" is 1; -1 without one.
std::int64_t leading_number(const std::string& text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : -1;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool holds_text(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// "TensorRT-LLM" is trtllm; "" for programs that are no serving engine.
std::string engine_of(const std::string& name) {
  if (name == "TensorRT-LLM") return "trtllm";
  if (name == "vLLM") return "vllm";
  return name == "SGLang" ? "sglang" : "";
}

// ">=1.1 (newest ...)" is 1.1; dates and names of images are no versions.
std::string version_of(std::string text) {
  while (!text.empty() && (text.front() == '>' || text.front() == '=')) text.erase(0, 1);
  text = text.substr(0, text.find(' '));
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
                     text.find('.') != std::string::npos;
  return plain ? text : "";
}

// Why a row is no point of a steady state that the closed form answers; "" if it is.
std::string refusal(const CsvTable& table, const CsvRow& row) {
  const std::string mode = table.text(row, "serving_mode");
  const std::string model = table.text(row, "model");
  const std::string metric = table.text(row, "measured_metric");
  const std::string engine = table.text(row, "engine");
  if (engine_of(engine).empty()) return "not of a serving engine that is known";
  if (holds_text(mode, "disagg") || holds_text(mode, "prefill") || holds_text(table.text(row, "dp_attention"), "/"))
    return "pools of prefill or decode alone";
  if (holds_text(mode, "MTP") || holds_text(model, "MTP") || holds_text(mode, "ladder") || holds_text(mode, "trace"))
    return "speculation, ablations and recorded traffic";
  if (holds_text(metric, "p9") || holds_text(metric, "gain") || holds_text(metric, "speedup") ||
      holds_text(metric, "iter_") || holds_text(metric, "input_"))
    return "percentiles, ratios and parts of a step";
  if (!is_number(table.text(row, "isl")) || !is_number(table.text(row, "osl"))) return "lengths that are no numbers";
  if (table.text(row, "hw").empty() || leading_number(table.text(row, "gpus")) < 1) return "machine or GPUs not stated";
  const std::string load = table.text(row, "concurrency_or_batch");
  if (!is_number(load) && !holds_text(load, "saturated")) return "load not stated";
  if (holds_text(table.text(row, "weight_dtype"), "verify")) return "weight format in doubt";
  if (holds_text(table.text(row, "notes"), "experimental")) return "experimental: trends only";
  return "";
}

// False: the metric is of no kind that is understood.
bool take_metric(const CsvTable& table, const CsvRow& row, PublishedRow& out) {
  const std::string metric = table.text(row, "measured_metric");
  const double value = table.number(row, "value", 1e-9, kMost);
  const auto gpus = static_cast<double>(out.serving.gpus);
  const double both = static_cast<double>(out.serving.isl + out.serving.osl) / static_cast<double>(out.serving.osl);
  const auto take = [&](PublishedMetric kind, double v) {
    out.metric = kind;
    out.value = v;
    return true;
  };
  if (metric == "tpot_mean" || metric == "tpot_median") return take(PublishedMetric::kTpot, value);
  if (metric == "ttft_mean" || metric == "ttft_median") return take(PublishedMetric::kTtft, value);
  if (metric == "interactivity" || metric == "interactivity_median" || metric == "output_tok_s_user")
    return take(PublishedMetric::kTpot, 1e3 / value);
  if (metric == "output_throughput_per_gpu") return take(PublishedMetric::kOutputPerGpu, value);
  if (metric == "output_throughput" || metric == "total_output_throughput")
    return take(PublishedMetric::kOutputPerGpu, value / gpus);
  if (metric == "total_throughput_per_gpu") return take(PublishedMetric::kOutputPerGpu, value / both);
  return false;
}

// A model with one checkpoint has its formats, whatever a table calls them.
void set_formats(const CsvTable& table, const CsvRow& row, ServingRow& out) {
  out.precision = table.text(row, "weight_dtype");
  if (!holds_text(out.model, "gpt-oss")) return;
  out.precision = "mxfp4";
  out.dense_format = "bf16";
  out.expert_format = "mxfp4";
}

ServingRow serving_row(const CsvTable& table, const CsvRow& row) {
  ServingRow out;
  out.line = row.line;
  out.id = table.text(row, "id");
  out.model = table.text(row, "model");
  out.hardware = table.text(row, "hw");
  out.engine = engine_of(table.text(row, "engine"));
  out.version = version_of(table.text(row, "engine_version"));
  set_formats(table, row, out);
  const std::string cache = table.text(row, "kv_dtype");
  if (cache == "bf16") out.kv_dtype = "bf16";
  if (cache == "fp8" || cache == "fp8/auto") out.kv_dtype = "fp8";
  out.isl = static_cast<std::int64_t>(table.number(row, "isl", 1, 1e9));
  out.osl = static_cast<std::int64_t>(table.number(row, "osl", 1, 1e9));
  out.gpus = leading_number(table.text(row, "gpus"));
  out.tp = std::max<std::int64_t>(1, leading_number(table.text(row, "tp")));
  out.pp = std::max<std::int64_t>(1, leading_number(table.text(row, "pp")));
  out.dpa = std::max<std::int64_t>(1, leading_number(table.text(row, "dp_attention")));
  out.ep = std::max<std::int64_t>(1, leading_number(table.text(row, "ep")));
  out.moe_tp = std::max<std::int64_t>(1, out.tp * out.dpa / out.ep);
  const std::string load = table.text(row, "concurrency_or_batch");
  out.concurrency = is_number(load) ? std::stoll(load) : kSaturated;
  if (holds_text(table.text(row, "engine_version"), "InferenceMAX")) out.protocol = "inferencemax";
  return out;
}

}  // namespace

PublishedRows read_published_rows(const CsvTable& table) {
  for (const char* column : {"hw", "gpus", "engine", "model", "weight_dtype", "tp", "isl", "osl",
                             "concurrency_or_batch", "measured_metric", "value"}) {
    (void)table.require(column);
  }
  PublishedRows out;
  for (const CsvRow& row : table.rows()) {
    (void)table.number(row, "value", -kMost, kMost);
    const std::string why = refusal(table, row);
    if (!why.empty()) {
      ++out.left_out[why];
      continue;
    }
    PublishedRow published;
    published.serving = serving_row(table, row);
    published.saturated = published.serving.concurrency == kSaturated;
    published.stated = !holds_text(table.text(row, "notes"), "not stated") &&
                       !holds_text(table.text(row, "dp_attention"), "ambiguous");
    published.source = published.serving.id.substr(0, published.serving.id.find('_'));
    if (take_metric(table, row, published))
      out.rows.push_back(std::move(published));
    else
      ++out.left_out["metrics of other kinds"];
  }
  return out;
}

namespace {

std::string width_text(const ServingRow& r) {
  std::string out = fmt::format("tp{}", r.tp);
  if (r.pp > 1) out += fmt::format(" pp{}", r.pp);
  return r.dpa > 1 ? out + fmt::format(" dpa{}", r.dpa) : out;
}

void set_groups(const PublishedRow& row, PointReport& r, MeasuredPoint& p) {
  const ServingRow& s = row.serving;
  const std::string unit = r.quantities[p.quantity].name + ", ";
  const auto set = [&](Grouping g, const std::string& name) { p.groups[g] = group_index(r, g, unit + name); };
  set(kDevice, s.hardware);
  set(kModel, s.model + " " + (s.precision.empty() ? "own formats" : s.precision));
  set(kEngine, s.engine + " " + (s.version.empty() ? "?" : s.version));
  set(kSource, row.source);
  set(kWidths, width_text(s));
  set(kLengths, fmt::format("{}/{}", s.isl, s.osl));
  set(kStated, row.stated ? "all widths stated" : "expert or attention widths not stated");
  set(kLoad, row.saturated ? "saturated" : fmt::format("{} requests", s.concurrency));
}

// What must be equal for two rows to differ in their GPUs and how these are used alone.
std::string all_but_widths(const PublishedRow& row) {
  const ServingRow& s = row.serving;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", row.source, s.hardware, s.engine, s.version, s.model, s.precision,
                     s.kv_dtype, s.isl, s.osl, s.concurrency);
}

// What more GPUs bring: saturated throughput of a GPU against the same deployment on the fewest GPUs of the table,
// where all else is the same. Tensor and pipeline parallelism, the cliff of a cache that holds next to nothing, and too
// many shards are in it.
void add_scaling(const std::vector<PublishedRow>& rows, PointReport& report) {
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool counts = rows[i].saturated && rows[i].metric == PublishedMetric::kOutputPerGpu;
    if (counts && report.points[i].predicted > 0) alike[all_but_widths(rows[i])].push_back(i);
  }
  const auto fewest = [&](std::size_t a, std::size_t b) { return rows[a].serving.gpus < rows[b].serving.gpus; };
  for (const auto& [name, of] : alike) {
    const std::size_t base = *std::min_element(of.begin(), of.end(), fewest);
    for (const std::size_t i : of) {
      const ServingRow& s = rows[i].serving;
      if (s.gpus == rows[base].serving.gpus) continue;
      const MeasuredPoint& own = report.points[i];
      const MeasuredPoint& first = report.points[base];
      MeasuredPoint p{.line = own.line,
                      .quantity = kScaling,
                      .measured = own.measured / first.measured,
                      .predicted = own.predicted / first.predicted};
      p.groups[kDevice] = group_index(report, kDevice, "scaling, " + s.hardware);
      p.groups[kModel] = group_index(report, kModel, "scaling, " + s.model + " " + s.precision);
      p.groups[kWidths] =
          group_index(report, kWidths, "scaling, " + width_text(rows[base].serving) + " to " + width_text(s));
      report.points.push_back(p);
    }
  }
}

}  // namespace

PointReport validate_published(const CsvTable& table, const EngineTimesTable& times, std::size_t worst) {
  PublishedRows read = read_published_rows(table);
  PointReport report;
  report.kind = "published figures";
  report.apart_name = "cache cannot hold the load";
  report.files = {table.file()};
  report.quantities = {{"TPOT", "ms"}, {"TTFT", "ms"}, {"output tokens/s/GPU", "1/s"}, {"scaling", "x", true}};
  for (const char* by : {"device", "model", "engine", "source", "widths", "lengths", "load", "widths stated"})
    report.groupings.push_back({by});
  report.left_out = read.left_out;
  std::vector<ServingRow> rows;
  for (const PublishedRow& row : read.rows) rows.push_back(row.serving);
  const std::vector<PricedRow> priced = price_rows(rows, table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    MeasuredPoint p{.line = static_cast<std::int32_t>(rows[i].line),
                    .quantity = static_cast<std::uint16_t>(read.rows[i].metric),
                    .measured = read.rows[i].value};
    set_groups(read.rows[i], report, p);
    if (priced[i].legal) {
      predict_point(priced[i], times, static_cast<SteadyQuantity>(read.rows[i].metric), p);
      p.apart = !priced[i].holds && !read.rows[i].saturated;
      const ServingRow& s = rows[i];
      if (!p.apart)
        report.worst.push_back({report.points.size(),
                                fmt::format("{} {} on {}x{} {} {}/{}: {}", s.model, s.precision, s.gpus, s.hardware,
                                            width_text(s), s.isl, s.osl, report.quantities[p.quantity].name),
                                steady_breakdown(priced[i], times)});
    } else {
      ++report.not_predicted[priced[i].refusal];
    }
    report.points.push_back(p);
  }
  add_scaling(read.rows, report);
  summarise(report, worst);
  return report;
}

}  // namespace shardplan
