// The errors that end a command. Everything expected (a configuration that is illegal or does
// not fit) is a value, never an exception.
#pragma once

#include <stdexcept>
#include <string>

namespace shardplan {

// Exit statuses of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitInternal = 70;

// Bad input: one line "where: what; hint". `where` is a file with a JSON pointer, or a flag;
// `hint` says what would be right. Caught once, in main; exit status 2.
class InputError : public std::runtime_error {
 public:
  InputError(const std::string& where, const std::string& what, const std::string& hint)
      : std::runtime_error(where + ": " + what + (hint.empty() ? "" : "; expected " + hint)) {}
};

// Something this machine lacks (a GPU, NCCL, a writable disk); exit status 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A fault of ours; exit status 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with `message` unless `condition` holds.
inline void ensure(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

}  // namespace shardplan
