#include "calibrate/mpi/mpi_transport.h"

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <thread>

#include "base/errors.h"
#include "calibrate/byte_stream.h"
#include "calibrate/mpi/last_words.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = Transport::Milliseconds;

enum class Kind : std::int64_t { kMessage, kFailure, kShare };

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw EnvironmentError(std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

// Envelope of every message between processes.
struct Letter {
  Kind kind = Kind::kMessage;
  std::int64_t run = 0;
  std::string text;      // kFailure, kShare: the failure so far
  std::string content;   // kShare
  Message message;
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI does not start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    speak_last_words(rank_);
  }
  ~MpiTransport() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  [[nodiscard]] int ranks() const override { return size_; }
  [[nodiscard]] std::vector<int> local_ranks(int used) const override { return rank_ < used ? std::vector<int>{rank_} : std::vector<int>{}; }
  [[nodiscard]] bool several_processes() const override { return size_ > 1; }
  [[nodiscard]] std::string failure() override { return failure_; }
  void note(int, const Operation& operation) override { note_last_words(operation); }

  void begin_run() override {
    ++run_;
    failure_.clear();
    for (auto& [from, letters] : messages_) std::erase_if(letters, [&](const Letter& l) { return l.run < run_; });
    for (auto& [from, letters] : shares_) std::erase_if(letters, [&](const Letter& l) { return l.run < run_; });
    for (const Letter& letter : early_failures_) {
      if (letter.run == run_) failure_ = letter.text;
    }
    std::erase_if(early_failures_, [&](const Letter& l) { return l.run <= run_; });
  }

  void post(int from, int to, Message message) override {
    ensure(from == rank_ && to >= 0 && to < size_, "message of another process, or to a rank that does not exist");
    deliver(to, {Kind::kMessage, run_, {}, {}, std::move(message)});
  }

  Message take(int from, int, Milliseconds timeout) override {
    std::deque<Letter>& queue = messages_[from];
    const auto ready = [&] { return !queue.empty() && queue.front().run == run_; };
    wait_until([&] { return ready() || !failure_.empty(); }, timeout);
    if (ready()) {
      Message message = std::move(queue.front().message);
      queue.pop_front();
      return message;
    }
    if (!failure_.empty()) throw PeerFailed();
    throw EnvironmentError("waited " + std::to_string(timeout.count()) + " ms for rank " + std::to_string(from) + last_heard(from));
  }

  void fail(const std::string& message) override {
    if (!failure_.empty()) return;
    failure_ = message;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer != rank_) deliver(peer, {Kind::kFailure, run_, failure_, {}, {}});
    }
  }

  std::vector<std::string> share(std::string mine, Milliseconds timeout) override {
    for (int peer = 0; peer < size_; ++peer) {
      if (peer != rank_) deliver(peer, {Kind::kShare, run_, failure_, mine, {}});
    }
    std::vector<std::string> all(static_cast<std::size_t>(size_));
    all[static_cast<std::size_t>(rank_)] = std::move(mine);
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      std::deque<Letter>& queue = shares_[peer];
      // A rank that has failed says so at once: whoever is silent after that is lost.
      wait_until([&] { return !queue.empty() && queue.front().run == run_; }, failure_.empty() ? 2 * timeout : Milliseconds(2000));
      if (queue.empty()) throw EnvironmentError((failure_.empty() ? "" : failure_ + "; ") + "rank " + std::to_string(peer) + " does not answer" + last_heard(peer));
      if (failure_.empty()) failure_ = queue.front().text;
      all[static_cast<std::size_t>(peer)] = std::move(queue.front().content);
      queue.pop_front();
    }
    return all;
  }

 private:
  struct Outgoing {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  [[nodiscard]] std::string last_heard(int rank) const {
    const auto it = heard_.find(rank);
    return it == heard_.end() ? "" : ", last heard of in " + operation_text(it->second);
  }

  void deliver(int to, const Letter& letter) {
    ByteWriter out;
    out.number(letter.kind);
    out.number(letter.run);
    out.text(letter.text);
    out.text(letter.content);
    out.number(letter.message.sent_in.step);
    out.number(letter.message.sent_in.node);
    out.text(letter.message.sent_in.name);
    out.numbers(letter.message.values);
    out.numbers(letter.message.ids);
    Outgoing& outgoing = outgoing_.emplace_back();
    outgoing.bytes = out.take();
    check(MPI_Isend(outgoing.bytes.data(), static_cast<int>(outgoing.bytes.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, &outgoing.request), "MPI cannot send");
    outgoing_.remove_if([](Outgoing& o) {
      int done = 0;
      MPI_Test(&o.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  // Takes in whatever has come; false when nothing has.
  bool look() {
    int there = 0;
    MPI_Status status;
    MPI_Message handle = MPI_MESSAGE_NULL;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &handle, &status), "MPI cannot receive");
    if (there == 0) return false;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, &status), "MPI cannot receive");
    sort_in(status.MPI_SOURCE, bytes);
    return true;
  }

  void sort_in(int from, const std::string& bytes) {
    ByteReader in(bytes);
    Letter letter;
    letter.kind = in.number<Kind>();
    letter.run = in.number<std::int64_t>();
    letter.text = in.text();
    letter.content = in.text();
    Operation& operation = letter.message.sent_in;
    operation.step = in.number<int>();
    operation.node = in.number<int>();
    operation.name = names_.insert(in.text()).first->c_str();
    letter.message.values = in.numbers<float>();
    letter.message.ids = in.numbers<std::int64_t>();
    if (letter.run < run_) return;
    if (letter.kind == Kind::kMessage) {
      heard_[from] = operation;
      messages_[from].push_back(std::move(letter));
    } else if (letter.kind == Kind::kShare) {
      shares_[from].push_back(std::move(letter));
    } else if (letter.run > run_) {
      early_failures_.push_back(std::move(letter));
    } else if (failure_.empty()) {
      failure_ = letter.text;
    }
  }

  template <class Done>
  void wait_until(Done done, Milliseconds timeout) {
    const auto start = Clock::now();
    while (!done()) {
      if (look()) continue;
      const auto waited = Clock::now() - start;
      if (waited > timeout) return;
      if (waited > Milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
      else std::this_thread::yield();
    }
  }

  int rank_ = 0;
  int size_ = 1;
  std::int64_t run_ = 0;
  std::string failure_;
  std::map<int, std::deque<Letter>> messages_;
  std::map<int, std::deque<Letter>> shares_;
  std::vector<Letter> early_failures_;
  std::map<int, Operation> heard_;
  std::set<std::string> names_;   // of operations, as long as the transport
  std::list<Outgoing> outgoing_;
};

}  // namespace

bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

std::shared_ptr<Transport> join_mpi() { return std::make_shared<MpiTransport>(); }

}  // namespace shardplan
