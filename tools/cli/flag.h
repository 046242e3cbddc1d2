// What a command accepts, as data: flags and arguments with their words in --help and where their values go.
//
// Every value is stored by our own reader, so that a bad one ends in a line that names the flag and the range.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardplan {

struct Flag {
  std::string name;                               // "--tp"
  std::string value;                              // its value's name in --help, "N"; empty: a switch
  std::string help;                               // one sentence, with default and unit
  std::function<void(const std::string&)> store;  // InputError for a bad value; a switch gets ""
  bool number = false;                            // its value is one number
};

struct FlagGroup {
  std::string title;  // heading in --help
  std::vector<Flag> flags;
};

// A word that is not a flag: a model's name, a file.
struct Argument {
  std::string name;  // "PLAN.json"
  std::string help;
  bool required = false;
  std::function<void(const std::string&)> store;
};

}  // namespace shardplan
