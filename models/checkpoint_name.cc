#include "models/checkpoint_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace shardplan {
namespace {

struct Ending {
  std::string_view text;
  const char* format;  // "": says nothing of weights
};
// Longer ones before those that they end in.
constexpr std::array kEndings{
    Ending{"-quantized.w4a16", "int4_g128"},
    Ending{"-quantized.w8a8", "int8"},
    Ending{"-fp8-dynamic", "fp8_channel"},
    Ending{"-w4a16-g128", "int4_g128"},
    Ending{"-gptq-int4", "int4_g128"},
    Ending{"-gptq-int8", "int8_a16"},
    Ending{"-awq-int4", "int4_g128"},
    Ending{"-fp8-kv", "fp8"},
    Ending{"-w4a16", "int4_g128"},
    Ending{"-w8a8", "int8"},
    Ending{"-gptq", "int4_g128"},
    Ending{"-awq", "int4_g128"},
    Ending{"-int4", "int4_g128"},
    Ending{"-int8", "int8"},
    Ending{"-mxfp4", "mxfp4_a16"},
    Ending{"-nvfp4", "nvfp4"},
    Ending{"-fp4", "nvfp4"},
    Ending{"-fp8", "fp8"},
    Ending{"-bf16", "bf16"},
    Ending{"-instruct", ""},
    Ending{"-thinking", ""},
    Ending{"-chat", ""},
    Ending{"-base", ""},
    Ending{"-it", ""},
    Ending{"-hf", ""},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view after_slash(std::string_view name) { return name.substr(name.find_last_of('/') + 1); }
std::string_view before_slash(std::string_view name) {
  const std::size_t slash = name.find_last_of('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

// "-2507" and "-v0.1", or the ".1" of a point release, which has the sizes of its release.
bool drop_release(std::string& base) {
  const std::size_t mark = base.find_last_of("-.");
  if (mark == std::string::npos || mark + 1 == base.size()) return false;
  std::string_view tail = std::string_view(base).substr(mark + 1);
  const bool version = base[mark] == '-' && tail.size() > 1 && tail.front() == 'v';
  if (version) tail.remove_prefix(1);
  const bool digits = tail.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || (base[mark] == '-' && !version && tail.size() != 4)) return false;
  base.resize(mark);
  return true;
}

bool drop_ending(std::string& base, std::string& format) {
  for (const Ending& ending : kEndings) {
    if (!base.ends_with(ending.text)) continue;
    base.resize(base.size() - ending.text.size());
    if (format.empty()) format = ending.format;
    return true;
  }
  return drop_release(base);
}

}  // namespace

std::optional<CheckpointName> find_checkpoint(const std::string& name) {
  const bool path = name.starts_with('.') || name.starts_with('/') || name.starts_with('~') || std::count(name.begin(), name.end(), '/') > 1;
  if (path) return std::nullopt;
  std::string base = lower(after_slash(name));
  if (base.starts_with("meta-")) base.erase(0, 5);
  std::string format;
  const CatalogEntry* entry = find_entry(base);
  while (entry == nullptr && drop_ending(base, format)) entry = find_entry(base);
  if (entry == nullptr) return std::nullopt;
  if (format == "fp8" && lower(before_slash(name)) == lower(before_slash(entry->hf_id))) format = "fp8_block";
  return CheckpointName{entry, format.empty() ? nullptr : find_format(format)};
}

}  // namespace shardplan
