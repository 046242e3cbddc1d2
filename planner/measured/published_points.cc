#include "planner/measured/published_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>

#include "base/errors.h"
#include "planner/measured/accuracy.h"
#include "planner/measured/prediction.h"

namespace shardplan {
namespace {

constexpr double kMost = 1e12;
constexpr std::int64_t kSaturated = 100'000;  // requests: more than any deployment holds

// Quantities of a report: those of the steady state, then scaling.
constexpr std::uint16_t index_of(SteadyQuantity quantity) { return static_cast<std::uint16_t>(quantity); }
constexpr std::uint16_t kScaling = index_of(SteadyQuantity::kOutputPerGpu) + 1;

enum Grouping : std::size_t { kDevice, kModel, kEngine, kSource, kWidths, kLengths, kLoad, kStated };
constexpr const char* kGroupings[] = {"device", "model",   "engine", "source",
                                      "widths", "lengths", "load",   "widths stated"};
static_assert(std::size(kGroupings) == kStated + 1);

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

bool cell_holds(const CsvTable& table, const CsvRow& row, const char* column,
                std::initializer_list<const char*> parts) {
  const std::string cell = table.text(row, column);
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return holds_text(cell, part); });
}

struct Refusal {
  const char* why;
  bool (*is)(const CsvTable&, const CsvRow&);
};

// Rows that are no point of a steady state which the closed form answers: the first that applies is said.
constexpr Refusal kRefusals[] = {
    {"not of a serving engine that is known",
     [](const CsvTable& t, const CsvRow& r) { return engine_of(t.text(r, "engine")).empty(); }},
    {"pools of prefill or decode alone",
     [](const CsvTable& t, const CsvRow& r) {
       return cell_holds(t, r, "serving_mode", {"disagg", "prefill"}) || cell_holds(t, r, "dp_attention", {"/"});
     }},
    {"speculation, ablations and recorded traffic",
     [](const CsvTable& t, const CsvRow& r) {
       return cell_holds(t, r, "serving_mode", {"MTP", "ladder", "trace"}) || cell_holds(t, r, "model", {"MTP"});
     }},
    {"percentiles, ratios and parts of a step",
     [](const CsvTable& t, const CsvRow& r) {
       return cell_holds(t, r, "measured_metric", {"p9", "gain", "speedup", "iter_", "input_"});
     }},
    {"lengths that are no numbers",
     [](const CsvTable& t, const CsvRow& r) { return !is_number(t.text(r, "isl")) || !is_number(t.text(r, "osl")); }},
    {"machine or GPUs not stated",
     [](const CsvTable& t, const CsvRow& r) {
       return t.text(r, "hw").empty() || leading_number(t.text(r, "gpus")) < 1;
     }},
    {"load not stated",
     [](const CsvTable& t, const CsvRow& r) {
       return !is_number(t.text(r, "concurrency_or_batch")) && !cell_holds(t, r, "concurrency_or_batch", {"saturated"});
     }},
    {"weight format in doubt",
     [](const CsvTable& t, const CsvRow& r) { return cell_holds(t, r, "weight_dtype", {"verify"}); }},
    {"experimental: trends only",
     [](const CsvTable& t, const CsvRow& r) { return cell_holds(t, r, "notes", {"experimental"}); }},
};

const char* refusal(const CsvTable& table, const CsvRow& row) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.is(table, row)) return refusal.why;
  }
  return nullptr;
}

struct Metric {
  const char* name;
  SteadyQuantity quantity;
  double (*of)(double value, const ServingRow&);  // in the quantity's unit
};

double as_it_is(double value, const ServingRow& /*row*/) { return value; }
double per_user(double value, const ServingRow& /*row*/) { return 1e3 / value; }
double per_gpu(double value, const ServingRow& row) { return value / static_cast<double>(row.gpus); }
double output_part(double value, const ServingRow& row) {
  return value * static_cast<double>(row.osl) / static_cast<double>(row.isl + row.osl);
}

constexpr Metric kMetrics[] = {
    {"tpot_mean", SteadyQuantity::kTpot, as_it_is},
    {"tpot_median", SteadyQuantity::kTpot, as_it_is},
    {"ttft_mean", SteadyQuantity::kTtft, as_it_is},
    {"ttft_median", SteadyQuantity::kTtft, as_it_is},
    {"interactivity", SteadyQuantity::kTpot, per_user},
    {"interactivity_median", SteadyQuantity::kTpot, per_user},
    {"output_tok_s_user", SteadyQuantity::kTpot, per_user},
    {"output_throughput_per_gpu", SteadyQuantity::kOutputPerGpu, as_it_is},
    {"output_throughput", SteadyQuantity::kOutputPerGpu, per_gpu},
    {"total_output_throughput", SteadyQuantity::kOutputPerGpu, per_gpu},
    {"total_throughput_per_gpu", SteadyQuantity::kOutputPerGpu, output_part},
};

// False: the metric is of no kind that is understood.
bool take_metric(const CsvTable& table, const CsvRow& row, PublishedRow& out) {
  const std::string name = table.text(row, "measured_metric");
  const auto* metric =
      std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const Metric& m) { return name == m.name; });
  if (metric == std::end(kMetrics)) return false;
  out.quantity = metric->quantity;
  out.value = metric->of(table.number(row, "value", 1e-9, kMost), out.serving);
  return true;
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
    if (const char* why = refusal(table, row)) {
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
    const bool counts = rows[i].saturated && rows[i].quantity == SteadyQuantity::kOutputPerGpu;
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
  for (const char* by : kGroupings) report.groupings.push_back({by});
  report.left_out = read.left_out;
  std::vector<ServingRow> rows;
  for (const PublishedRow& row : read.rows) rows.push_back(row.serving);
  const std::vector<PricedRow> priced = price_rows(rows, table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    MeasuredPoint p{.line = static_cast<std::int32_t>(rows[i].line),
                    .quantity = index_of(read.rows[i].quantity),
                    .measured = read.rows[i].value};
    set_groups(read.rows[i], report, p);
    if (priced[i].legal) {
      predict_point(priced[i], times, read.rows[i].quantity, p);
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
