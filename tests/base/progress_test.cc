// Progress: what the line says, and that it is drawn and erased only where it should be.
#include "base/progress.h"

#include <mutex>
#include <thread>
#include <vector>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

// Advances until something was drawn (the redraw is throttled to 100 ms).
void advance_until_drawn(Progress& progress, const std::string& drawn) {
  for (int i = 0; i < 100 && drawn.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    progress.advance();
  }
}

}  // namespace

TEST_CASE("The time left assumes that the rest goes as the part that is done") {
  CHECK(progress_line("search", 1200, 4800, Seconds(1)) == "search: 1,200 of 4,800 (25 %), 3.00 s left");
  CHECK(progress_line("search", 4800, 4800, Seconds(4)) == "search: 4,800 of 4,800 (100 %)");
  CHECK(progress_line("search", 0, 4800, Seconds(1)) == "search: 0 of 4,800 (0 %)");
  CHECK(progress_line("search", 1200, 0, Seconds(1)) == "search: 1,200");
}

TEST_CASE("Nothing is drawn by a computation that ends at once") {
  std::string drawn;
  { Progress("quick", 10, [&](std::string_view text) { drawn += text; }).advance(10); }
  CHECK(drawn.empty());
}

TEST_CASE("A longer computation redraws one line in place and erases it at the end") {
  std::string drawn;
  {
    Progress progress("long", 1000, [&](std::string_view text) { drawn += text; });
    advance_until_drawn(progress, drawn);
  }
  CHECK_THAT(drawn, contains_text("\rlong: ") && contains_text(" of 1,000"));
  CHECK(drawn.find('\n') == std::string::npos);
  CHECK(drawn.substr(drawn.size() - 4) == "\r\x1b[K");
}

TEST_CASE("Steps from many threads are all counted") {
  Progress progress("threads", 40000, Progress::Sink());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] { for (int i = 0; i < 10000; ++i) progress.advance(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(progress.done() == 40000);
}

}  // namespace shardplan
