#include "calibrate/launch/letter_transport.h"

#include <thread>

#include "base/errors.h"
#include "calibrate/byte_stream.h"
#include "calibrate/launch/last_words.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

LetterTransport::LetterTransport(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {
  speak_last_words(wire_->rank());
}

LetterTransport::~LetterTransport() = default;

std::vector<int> LetterTransport::local_ranks(int used) const {
  return wire_->rank() < used ? std::vector<int>{wire_->rank()} : std::vector<int>{};
}

void LetterTransport::note(int, const Operation& operation) { note_last_words(operation); }

void LetterTransport::begin_run() {
  ++run_;
  failure_.clear();
  for (auto& [from, letters] : messages_) std::erase_if(letters, [&](const Letter& l) { return l.run < run_; });
  for (auto& [from, letters] : shares_) std::erase_if(letters, [&](const Letter& l) { return l.run < run_; });
  for (const Letter& letter : early_failures_) {
    if (letter.run == run_) failure_ = letter.text;
  }
  std::erase_if(early_failures_, [&](const Letter& l) { return l.run <= run_; });
}

void LetterTransport::post(int from, int to, Message message) {
  ensure(from == wire_->rank() && to >= 0 && to < ranks(),
         "message of another process, or to a rank that does not exist");
  deliver(to, {Kind::kMessage, run_, {}, {}, std::move(message)});
}

Message LetterTransport::take(int from, int, Milliseconds timeout) {
  std::deque<Letter>& queue = messages_[from];
  const auto ready = [&] { return !queue.empty() && queue.front().run == run_; };
  wait_until([&] { return ready() || !failure_.empty(); }, from, timeout);
  if (ready()) {
    Message message = std::move(queue.front().message);
    queue.pop_front();
    return message;
  }
  if (!failure_.empty()) throw PeerFailed();
  if (wire_->is_gone(from)) throw EnvironmentError("rank " + std::to_string(from) + " has hung up" + last_heard(from));
  throw EnvironmentError("waited " + std::to_string(timeout.count()) + " ms for rank " + std::to_string(from) +
                         last_heard(from));
}

void LetterTransport::fail(const std::string& message) {
  if (!failure_.empty()) return;
  failure_ = message;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer != wire_->rank()) deliver(peer, {Kind::kFailure, run_, failure_, {}, {}});
  }
}

std::vector<std::string> LetterTransport::share(std::string mine, Milliseconds timeout) {
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer != wire_->rank()) deliver(peer, {Kind::kShare, run_, failure_, mine, {}});
  }
  std::vector<std::string> all(static_cast<std::size_t>(ranks()));
  all[static_cast<std::size_t>(wire_->rank())] = std::move(mine);
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == wire_->rank()) continue;
    std::deque<Letter>& queue = shares_[peer];
    // A rank that has failed says so at once: whoever is silent after that is lost.
    wait_until([&] { return !queue.empty() && queue.front().run == run_; }, peer,
               failure_.empty() ? 2 * timeout : Milliseconds(2000));
    if (queue.empty()) {
      throw EnvironmentError((failure_.empty() ? "" : failure_ + "; ") + "rank " + std::to_string(peer) +
                             " does not answer" + last_heard(peer));
    }
    if (failure_.empty()) failure_ = queue.front().text;
    all[static_cast<std::size_t>(peer)] = std::move(queue.front().content);
    queue.pop_front();
  }
  return all;
}

std::string LetterTransport::last_heard(int rank) const {
  const auto it = heard_.find(rank);
  return it == heard_.end() ? "" : ", last heard of in " + operation_text(it->second);
}

void LetterTransport::deliver(int to, const Letter& letter) {
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
  wire_->send(to, out.take());
}

// Takes in whatever has come; false when nothing has.
bool LetterTransport::look() {
  int from = 0;
  std::string bytes;
  if (!wire_->receive(from, bytes)) return false;
  sort_in(from, bytes);
  return true;
}

void LetterTransport::sort_in(int from, const std::string& bytes) {
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
void LetterTransport::wait_until(Done done, int of_rank, Milliseconds timeout) {
  const auto start = Clock::now();
  while (!done()) {
    if (look()) continue;
    const auto waited = Clock::now() - start;
    if (waited > timeout || wire_->is_gone(of_rank)) return;
    if (waited > Milliseconds(1))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      std::this_thread::yield();
  }
}

}  // namespace shardplan
