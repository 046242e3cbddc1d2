// Arguments of an engine, in no syntax yet: flags of a command line, environment variables or keys of a YAML file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardplan {

struct EngineArgument {
  std::string name;   // "--tp-size", "moe_config.backend" (a dot nests), "SGLANG_PP_LAYER_PARTITION"
  std::string value;  // empty for a switch
  bool is_switch = false;
  bool is_expression = false;  // the value is one of the shell: "$PORT"
  friend bool operator==(const EngineArgument&, const EngineArgument&) = default;
};

class Arguments {
 public:
  Arguments& set(std::string name, std::string value);
  Arguments& set(std::string name, std::int64_t value);
  Arguments& turn_on(std::string name);                          // a switch
  Arguments& compute(std::string name, std::string expression);  // of the shell
  void append(const Arguments& more);

  [[nodiscard]] const std::vector<EngineArgument>& list() const { return list_; }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] bool has(const std::string& name) const;
  // The last value given, or the fallback; a switch that is there is "true".
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback = "") const;
  [[nodiscard]] std::int64_t count(const std::string& name, std::int64_t fallback) const;  // fallback where no number
  // The count behind a key of a JSON object; 0 where there is none (the flag table says what is no JSON).
  [[nodiscard]] std::int64_t count_in(const std::string& name, const char* key) const;
  // A count that things are divided by: at least 1, at most 10,000 (the flag table says what is wrong beyond).
  [[nodiscard]] std::int64_t degree(const std::string& name, std::int64_t fallback = 1) const;

 private:
  std::vector<EngineArgument> list_;
};

}  // namespace shardplan
