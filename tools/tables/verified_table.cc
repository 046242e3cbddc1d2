#include "tools/tables/verified_table.h"

#include "base/table.h"
#include "tools/tables/numbers.h"

namespace shardplan {

std::string verified_table(const std::vector<VerifiedRow>& rows) {
  if (rows.empty()) return "";
  using Align = Table::Align;
  Table table({{"rank"},
               {"before"},
               {"layout", Align::kLeft},
               {"TTFT ms"},
               {"p99"},
               {"TPOT ms"},
               {"p99"},
               {"tok/s/GPU"},
               {"targets", Align::kLeft}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SimulatedServing& s = *rows[i].simulated;
    table.add_row({std::to_string(i + 1), std::to_string(s.rank_before), rows[i].layout, in_milliseconds(s.ttft),
                   in_milliseconds(s.ttft_p99), in_milliseconds(s.tpot), in_milliseconds(s.tpot_p99),
                   short_number(s.output_tokens_per_second_per_gpu), s.meets_targets ? "met" : "missed"});
  }
  return "\nSimulated, and ranked by it (rank before: by the closed form)\n" + table.text(2);
}

}  // namespace shardplan
