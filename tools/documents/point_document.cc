#include "tools/documents/point_document.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/documents/document.h"
#include "tools/documents/stats_document.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostPoints = 200'000;  // that are listed one by one

Document counts_document(const std::map<std::string, std::int64_t>& counts) {
  Document out = Document::array();
  for (const auto& [why, count] : counts) out.push_back({{"points", count}, {"why", why}});
  return out;
}

Document one_point(const PointReport& r, const MeasuredPoint& p) {
  Document out{
      {"file", p.file}, {"line", p.line}, {"quantity", r.quantities[p.quantity].name}, {"measured", p.measured}};
  if (p.apart) out["apart"] = true;
  if (p.predicted <= 0) return out;
  out["predicted"] = p.predicted;
  out["predicted_p10"] = p.predicted * p.p10;
  out["predicted_p90"] = p.predicted * p.p90;
  return out;
}

Document worst_document(const PointReport& r) {
  Document out = Document::array();
  for (const WorstPoint& w : r.worst) {
    Document entry = one_point(r, r.points[w.point]);
    entry["what"] = w.what;
    entry["breakdown"] = w.breakdown;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::string point_document(const PointReport& r) {
  Document document{{"schema", "shardplan.validate_points/1"},
                    {"kind", r.kind},
                    {"measured", Document::array()},
                    {"quantities", Document::array()}};
  for (const std::string& file : r.files)
    document["measured"].push_back(std::filesystem::path(file).filename().string());
  for (const PointQuantity& q : r.quantities) document["quantities"].push_back({{"name", q.name}, {"unit", q.unit}});
  document["points"] = measured_points(r);
  document["predicted"] = r.overall.count + r.apart.count;
  document["errors"] = stats_document(r.overall, "points");
  document["apart"] = stats_document(r.apart, "points");
  document["apart"]["why"] = r.apart_name;
  document["groups"] = Document::array();
  for (const PointGroup& g : r.groups)
    document["groups"].push_back({{"by", g.by}, {"name", g.name}, {"errors", stats_document(g.errors, "points")}});
  document["held_out"] = Document::array();
  for (const HeldOutRow& h : r.held_out) {
    document["held_out"].push_back(
        {{"name", h.name}, {"points", h.points}, {"mean_ape", h.mean}, {"median_ape", h.median}, {"on", h.on}});
  }
  document["left_out"] = counts_document(r.left_out);
  document["not_predicted"] = counts_document(r.not_predicted);
  document["worst"] = worst_document(r);
  document["each"] = Document::array();
  if (r.points.size() <= kMostPoints) {
    for (const MeasuredPoint& p : r.points) document["each"].push_back(one_point(r, p));
  }
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
