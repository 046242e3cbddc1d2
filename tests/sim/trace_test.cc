#include "sim/workloads/trace.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/workloads/open_loop.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

// A file that holds `text` and is gone with this object.
class TraceFile {
 public:
  explicit TraceFile(const std::string& text) : path_((std::filesystem::temp_directory_path() / ("shardplan_trace_test_" + std::to_string(number_++))).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static inline int number_ = 0;
  std::string path_;
};

std::vector<RequestSpec> read_all(const std::string& path) {
  const auto trace = open_trace(path);
  std::vector<RequestSpec> out;
  for (RequestSpec row; trace->next(row);) out.push_back(row);
  return out;
}

std::string complaint(const std::string& text) {
  const TraceFile file(text);
  return message_of([&] { (void)read_all(file.path()); });
}

TEST_CASE("An Azure trace counts from its first row, to 100 ns, over midnight") {
  const TraceFile file("\xEF\xBB\xBFTIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9999999,374,44\r\n2023-11-17 00:00:00.5000000,396,109\n");
  const auto rows = read_all(file.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].arrival == SimTime(0));
  CHECK(rows[1].arrival == SimTime(500'000'100'000));
  CHECK(rows[1].prompt_tokens == 396);
  CHECK(rows[1].output_tokens == 109);
  CHECK(rows[1].id == 1);
}

TEST_CASE("Lengths come with arrivals or without") {
  const TraceFile with("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n");
  const auto rows = read_all(with.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].arrival == SimTime(4'314'579'000'000));
  const TraceFile without("num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n");
  CHECK_FALSE(open_trace(without.path())->has_arrivals());
  CHECK(read_all(without.path()).front().output_tokens == 54);
  CHECK_THAT(message_of([&] { TraceSource source(open_trace(without.path())); }), contains_text("without arrivals"));
  const auto lengths = trace_lengths(without.path());
  Random random(0, "unused");
  for (int i = 0; i < 3; ++i) CHECK(lengths->next(random).prompt_tokens == 3772);   // starts over
}

TEST_CASE("A Mooncake row keeps the identities of whole blocks") {
  const TraceFile file("{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [0, 7, 8]}\n"
                       "{\"timestamp\": 27, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [0]}\n");
  const auto rows = read_all(file.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].hashes == std::vector<std::uint64_t>{0, 7});
  CHECK(rows[0].hash_tokens == 512);
  CHECK(rows[1].arrival == SimTime(27'000'000'000));
  CHECK(rows[1].hashes.size() == 1);
}

TEST_CASE("A request log counts from its first arrival") {
  const TraceFile file("{\"request_id\": \"a\", \"input_toks\": 10, \"output_toks\": 20, \"arrival_time\": 1787267980.5, \"queued_ts\": 1.0}\n"
                       "{\"request_id\": \"b\", \"input_toks\": 11, \"output_toks\": 21, \"arrival_time\": 1787267981.0}\n");
  const auto rows = read_all(file.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].arrival == SimTime(500'000'000'000));
}

TEST_CASE("A bad row names its line and column") {
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,10,10\n";
  CHECK_THAT(complaint(head + "2023-11-16 18:17:04.0,-5,10\n"), contains_text(":3:23: ContextTokens is '-5'"));
  CHECK_THAT(complaint(head + "2023-11-16 18:17:04.0,5,0\n"), contains_text(":3:25: GeneratedTokens is '0'"));
  CHECK_THAT(complaint(head + "2023-11-16 18:17:04.0,5x,1\n"), contains_text("'5x'"));
  CHECK_THAT(complaint(head + "2023-11-16 18:17:04.0,99999999999999999999,1\n"), contains_text("a whole number from 1"));
  CHECK_THAT(complaint(head + "2023-11-16 18:17:04.0,5\n"), contains_text("the row has 2 fields"));
  CHECK_THAT(complaint(head + "2023-13-16 18:17:04.0,5,1\n"), contains_text(":3:1: TIMESTAMP"));
  CHECK_THAT(complaint(head + "2023-11-16 18:17:03.96,5,1\n"), contains_text("before the row above"));
  CHECK_THAT(complaint("num_prefill_tokens,num_decode_tokens,arrived_at\n1,1,nan\n"), contains_text("arrived_at is 'nan'"));
  CHECK_THAT(complaint("{\"timestamp\": 0, \"input_length\": \"x\", \"output_length\": 5}\n"), contains_text(":1"));
  CHECK_THAT(complaint("{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 5, \"hash_ids\": [-1]}\n"), contains_text("hash_ids/0"));
  CHECK_THAT(complaint("{\"timestamp\": 0, \"input_length\": 3\n"), contains_text(":1"));
}

TEST_CASE("What is no trace is refused") {
  CHECK_THAT(complaint(""), contains_text("is empty"));
  CHECK_THAT(complaint("hello\n"), contains_text("no trace's that is known"));
  CHECK_THAT(complaint(std::string("TIMESTAMP,ContextTokens\0", 24)), contains_text("zero byte"));
  CHECK_THAT(complaint("TIMESTAMP,ContextTokens\n1,2\n"), contains_text("no column GeneratedTokens"));
  CHECK_THAT(message_of([] { (void)open_trace("/nowhere/at/all"); }), contains_text("cannot be read"));
  CHECK_THAT(message_of([] { (void)open_trace(std::filesystem::temp_directory_path().string()); }), contains_text("folder"));
}

TEST_CASE("The reference traces have the rows and means that their descriptions state") {
  const char* shared = std::getenv("SHARDPLAN_SHARED");
  struct Expected { const char* name; std::size_t rows; double prompt; double output; };
  for (const Expected& e : {Expected{"azure2023_conv.csv", 19'366, 1154.7, 211.1}, Expected{"azure2023_code.csv", 8'819, 2047.8, 27.9},
                            Expected{"mooncake_synthetic.jsonl", 3'993, 15325.5, 149.1}, Expected{"vidur_arxiv_summarization.csv", 28'257, 2588.1, 291.4}}) {
    const std::string path = std::string(shared == nullptr ? "" : shared) + "/measured/traces/" + e.name;
    if (shared == nullptr || !std::filesystem::exists(path)) {
      WARN("reference trace not there: " << e.name);
      continue;
    }
    const auto rows = read_all(path);
    double prompt = 0, output = 0;
    for (const RequestSpec& row : rows) {
      prompt += static_cast<double>(row.prompt_tokens);
      output += static_cast<double>(row.output_tokens);
    }
    const auto n = static_cast<double>(rows.size());
    CHECK(rows.size() == e.rows);
    CHECK(prompt / n == Approx(e.prompt).margin(0.06));
    CHECK(output / n == Approx(e.output).margin(0.06));
  }
}

}  // namespace
}  // namespace shardplan
