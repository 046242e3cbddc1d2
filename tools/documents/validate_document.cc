#include "tools/documents/validate_document.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/documents/document.h"
#include "tools/documents/stats_document.h"

namespace shardplan {
namespace {

Document errors_document(const QuantityErrors& e) {
  return {{"ttft", stats_document(e.ttft, "rows")},
          {"tpot", stats_document(e.tpot, "rows")},
          {"output_throughput", stats_document(e.throughput, "rows")}};
}

Document rank_document(const RankQuality& rank) {
  return {{"groups", rank.groups}, {"held", rank.held}, {"throughput_ratio", rank.throughput_ratio}};
}

Document optional_number(const std::optional<double>& value) { return value ? Document(*value) : Document(nullptr); }

Document observed_document(const Observed& o) {
  return {{"ttft_seconds", optional_number(o.ttft)},
          {"tpot_seconds", optional_number(o.tpot)},
          {"output_tokens_per_second_per_gpu", optional_number(o.throughput)}};
}

void add_interval(Document& to, const char* key, double value, double spread) {
  const double wide = std::exp(kP90 * spread);
  to[key] = value;
  to[std::string(key) + "_p10"] = value / wide;
  to[std::string(key) + "_p90"] = value * wide;
}

Document point_document(const ValidateReport& r, std::size_t i) {
  const ServingRow& row = r.rows[i];
  Document out{{"line", row.line},
               {"id", row.id},
               {"group", kernel_group(row)},
               {"tp", row.tp},
               {"isl", row.isl},
               {"osl", row.osl},
               {"concurrency", row.concurrency},
               {"legal", r.priced[i].legal},
               {"cache_holds", r.priced[i].holds},
               {"measured", observed_document(row.measured)}};
  if (!r.priced[i].legal) {
    out["refusal"] = r.priced[i].refusal;
    return out;
  }
  const Judged& j = r.judged[i];
  Document& p = out["predicted"] = Document::object();
  add_interval(p, "ttft_seconds", j.predicted.ttft, j.spread.ttft);
  add_interval(p, "tpot_seconds", j.predicted.tpot, j.spread.tpot);
  add_interval(p, "output_tokens_per_second_per_gpu", j.predicted.throughput, j.spread.throughput);
  if (row.peer.tpot) out["peer"] = observed_document(row.peer);
  return out;
}

}  // namespace

std::string validate_document(const ValidateReport& r) {
  Document document{{"schema", "shardplan.validate/1"},
                    {"measured", std::filesystem::path(r.file).filename().string()},
                    {"method", r.by_simulation ? "simulate" : "analytic"},
                    {"rows", r.rows.size()},
                    {"legal", r.legal},
                    {"predicted", r.predicted},
                    {"left_out", r.left_out}};
  document.update(errors_document(r.overall));
  document["cache_cannot_hold"] = errors_document(r.apart);
  document["cache_cannot_hold"]["rows"] = r.apart_count;
  if (r.by_simulation) {
    document["simulated"] = r.simulated;
    if (r.analytic.tpot.count > 0) document["analytic"] = errors_document(r.analytic);
    if (r.analytic.tpot.count > 0) document["analytic"]["cache_cannot_hold"] = errors_document(r.analytic_apart);
    if (r.splits_protocols) {
      document["unknown_protocol"] = errors_document(r.guessed);
      document["unknown_protocol"]["cache_cannot_hold"] = errors_document(r.guessed_apart);
    }
  }
  document["beside_peer"] = {{"ours", errors_document(r.ours_beside_peer)}, {"peer", errors_document(r.peer)}};
  document["rank"] = {{"ours", rank_document(r.rank)}, {"ours_careful", rank_document(r.careful_rank)}, {"peer", rank_document(r.peer_rank)}};
  document["groups"] = Document::array();
  for (const GroupErrors& g : r.groups) {
    Document group{{"by", g.by}, {"name", g.name}, {"rows", g.rows}, {"predicted", g.predicted}};
    group.update(errors_document(g.errors));
    if (g.peer.tpot.count > 0) group["peer"] = errors_document(g.peer);
    document["groups"].push_back(std::move(group));
  }
  document["worst"] = Document::array();
  for (const std::size_t i : r.worst) document["worst"].push_back(r.rows[i].line);
  document["points"] = Document::array();
  for (std::size_t i = 0; i < r.rows.size(); ++i) document["points"].push_back(point_document(r, i));
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
