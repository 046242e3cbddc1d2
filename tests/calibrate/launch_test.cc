// Ranks of launchers that are not MPI's: what their variables say, and the wire between their processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>
#include <map>
#include <thread>

#include "base/errors.h"
#include "calibrate/launch/launched_rank.h"
#include "calibrate/launch/letter_transport.h"
#include "calibrate/launch/socket.h"
#include "calibrate/launch/socket_wire.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<LaunchedRank> launched_with(const Variables& variables) {
  return launched_rank([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    static_cast<void>(launched_with(variables));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("torchrun's variables say which rank a process is and where rank 0 waits") {
  const auto self = launched_with(
      {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "1234"}});
  REQUIRE(self.has_value());
  CHECK(self->rank == 3);
  CHECK(self->ranks == 8);
  CHECK(self->local_rank == 1);
  CHECK(self->address == "10.0.0.1");
  CHECK(self->port == 1234);
  const auto agent = launched_with({{"RANK", "0"},
                                    {"WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "h"},
                                    {"MASTER_PORT", "1234"},
                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(agent->port == 1235);  // its agent has the port itself
  CHECK_FALSE(launched_with({}).has_value());
  CHECK_FALSE(launched_with({{"RANK", "0"}}).has_value());  // others use the name, too
  CHECK(launched_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}})->ranks == 1);
}

TEST_CASE("srun's variables do as well, but not those of a batch script without a step") {
  const Variables step{{"SLURM_PROCID", "5"},       {"SLURM_STEP_NUM_TASKS", "16"},
                       {"SLURM_LOCALID", "1"},      {"SLURM_STEP_NODELIST", "gpu[03-07,11]"},
                       {"SLURM_JOB_ID", "1234567"}, {"SLURM_STEP_ID", "0"}};
  const auto self = launched_with(step);
  REQUIRE(self.has_value());
  CHECK(self->rank == 5);
  CHECK(self->address == "gpu03");
  CHECK(self->port == 20000 + 1234567 % 20000);
  CHECK_FALSE(launched_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}).has_value());
  CHECK(first_host("login1,gpu[1-2]") == "login1");
  CHECK(first_host("gpu7") == "gpu7");
  CHECK(first_host("n[012,014]") == "n012");
  CHECK(is_loopback("127.0.1.1"));
  CHECK_FALSE(is_loopback("12.7.0.1"));
}

TEST_CASE("variables that cannot be are refused by name") {
  CHECK(refusal({{"RANK", "two"}, {"WORLD_SIZE", "4"}}).find("variable RANK: is \"two\"") != std::string::npos);
  CHECK(refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).find("from 0 to 3") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "0"}}).find("variable WORLD_SIZE") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "4"}}).find("variable MASTER_ADDR: is missing") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "0"}})
            .find("variable MASTER_PORT") != std::string::npos);
}

TEST_CASE("the place on the node is the launcher's, whichever speaks, and must be a number") {
  const auto place = [](const Variables& variables) {
    return local_rank([&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  CHECK(place({}) == 0);
  CHECK(place({{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}}) == 3);
  CHECK(place({{"LOCAL_RANK", "1"}, {"SLURM_LOCALID", "2"}}) == 1);
  CHECK(place({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "h"}}) == 2);  // set by hand, one node
  CHECK_THROWS_AS(place({{"LOCAL_RANK", "gpu1"}}), InputError);
  CHECK_THROWS_AS(place({{"SLURM_LOCALID", "-1"}}), InputError);
}

// A port that is nobody else's as long as this lives: bound, not listened on, so that rank 0 may.
class ReservedPort {
 public:
  ReservedPort() {
    const int yes = 1;
    REQUIRE(setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    REQUIRE(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  [[nodiscard]] int number() const { return port_of(socket_); }

 private:
  Socket socket_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// Runs body(rank, wire or nullptr, error) on every rank, each a thread with a wire of its own.
struct Outcome {
  std::unique_ptr<Wire> wire;
  std::string error;
};

std::vector<Outcome> connect_all(const std::vector<LaunchedRank>& selves, const std::vector<std::string>& versions,
                                 int patience_ms) {
  std::vector<Outcome> outcomes(selves.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < selves.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        outcomes[i].wire = connect_sockets(selves[i], versions[i], std::chrono::milliseconds(patience_ms));
      } catch (const std::exception& error) {
        outcomes[i].error = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<LaunchedRank> world(const ReservedPort& port, int ranks, int present) {
  std::vector<LaunchedRank> selves;
  for (int rank = 0; rank < present; ++rank)
    selves.push_back({rank, ranks, rank, "127.0.0.1", port.number(), "torchrun"});
  return selves;
}

// Destroyed at once, as processes end.
void end_all(std::vector<std::unique_ptr<Transport>>& transports) {
  std::vector<std::thread> threads;
  for (auto& transport : transports) threads.emplace_back([&] { transport.reset(); });
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("processes find each other over sockets and exchange messages of any size") {
  const ReservedPort port;
  auto outcomes = connect_all(world(port, 4, 4), {"1", "1", "1", "1"}, 20000);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Outcome& outcome : outcomes) {
    REQUIRE(outcome.error.empty());
    transports.push_back(std::make_unique<LetterTransport>(std::move(outcome.wire)));
  }
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(4);
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      Transport& self = *transports[static_cast<std::size_t>(rank)];
      self.begin_run();
      const std::size_t size = 300'000;  // more than a socket's buffer
      for (int peer = 0; peer < 4; ++peer) {
        if (peer != rank) self.post(rank, peer, {std::vector<float>(size, static_cast<float>(rank)), {}, {}});
      }
      for (int peer = 0; peer < 4; ++peer) {
        if (peer == rank) continue;
        const Message message = self.take(peer, rank, std::chrono::milliseconds(20000));
        if (message.values.size() != size || message.values.back() != static_cast<float>(peer))
          wrong[static_cast<std::size_t>(rank)] = "other numbers";
      }
      const auto all = self.share(std::to_string(rank), std::chrono::milliseconds(20000));
      if (all != std::vector<std::string>{"0", "1", "2", "3"}) wrong[static_cast<std::size_t>(rank)] = "other shares";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) CHECK(text.empty());
  end_all(transports);
}

TEST_CASE("a rank that never comes, another version and a second rank of one number are named") {
  const ReservedPort port;
  const auto missing = connect_all(world(port, 3, 2), {"1", "1"}, 1500);
  CHECK(missing[0].error == "rank 0 waited for the 3 ranks of torchrun: no word of rank 2");
  const auto versions = connect_all(world(port, 2, 2), {"0.1", "0.2"}, 3000);
  CHECK(versions[0].error == "rank 1 runs version 0.2, rank 0 version 0.1: all ranks must run the same program");
  CHECK_FALSE(versions[1].error.empty());
  auto twice = world(port, 3, 3);
  twice[2].rank = 1;
  CHECK(connect_all(twice, {"1", "1", "1"}, 3000)[0].error == "two processes say that they are rank 1 of 3");
}

TEST_CASE("a port that is taken and a host that is none are one line") {
  const Socket taken = listen_on(0);
  const LaunchedRank first{0, 2, 0, "127.0.0.1", port_of(taken), "torchrun"};
  CHECK(connect_all({first}, {"1"}, 500)[0].error.find("cannot listen on port") != std::string::npos);
  const LaunchedRank lost{1, 2, 0, "no-such-host.invalid", 9, "torchrun"};
  CHECK(connect_all({lost}, {"1"}, 500)[0].error.find("is not known") != std::string::npos);
}

// Nobody takes calls at the port, and no more can wait there: one that comes gets no answer at all.
class SilentPort {
 public:
  SilentPort() {
    sockaddr_in address = loopback(0);
    REQUIRE(bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listening_.get(), 0) == 0);
    for (int i = 0; i < 4; ++i) {
      const sockaddr_in to = loopback(port());
      waiting_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      static_cast<void>(connect(waiting_.back().get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
    }
  }
  [[nodiscard]] int port() const { return port_of(listening_); }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  Socket listening_{socket(AF_INET, SOCK_STREAM, 0)};
  std::vector<Socket> waiting_;
};

TEST_CASE("a call that nobody answers ends at the deadline") {
  const SilentPort silent;
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(call_until("127.0.0.1", silent.port(), start + std::chrono::milliseconds(300)).is_open());
  const auto waited = std::chrono::steady_clock::now() - start;
  CHECK(waited >= std::chrono::milliseconds(250));
  CHECK(waited < std::chrono::seconds(5));
  const ReservedPort nobody;
  CHECK_FALSE(
      call_until("127.0.0.1", nobody.number(), std::chrono::steady_clock::now() + std::chrono::milliseconds(120))
          .is_open());
}

TEST_CASE("a machine that can take no call says so at once") {
  const Socket listening = listen_on(0);
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(20); };
  const Socket caller = call_until("127.0.0.1", port_of(listening), soon());
  REQUIRE(caller.is_open());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{static_cast<rlim_t>(caller.get()), before.rlim_max};  // no descriptor beyond those that are open
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::exception_ptr thrown;  // looked at later: a sanitizer needs descriptors for that
  try {
    static_cast<void>(accept_until(listening, soon()));
  } catch (...) {
    thrown = std::current_exception();
  }
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(thrown != nullptr);
  std::string said;
  try {
    std::rethrow_exception(thrown);
  } catch (const EnvironmentError& error) {
    said = error.what();
  }
  CHECK(said.find("cannot take a call on port") != std::string::npos);
  CHECK(accept_until(listening, soon()).is_open());  // the call still waits
}

TEST_CASE("whoever waits for a process that is gone is told at once") {
  const ReservedPort port;
  auto outcomes = connect_all(world(port, 2, 2), {"1", "1"}, 20000);
  REQUIRE(outcomes[0].wire != nullptr);
  REQUIRE(outcomes[1].wire != nullptr);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Outcome& outcome : outcomes) transports.push_back(std::make_unique<LetterTransport>(std::move(outcome.wire)));
  for (auto& transport : transports) transport->begin_run();
  std::thread other([&] { transports[1].reset(); });
  std::string said;
  try {
    static_cast<void>(transports[0]->take(1, 0, std::chrono::milliseconds(60000)));
  } catch (const EnvironmentError& error) {
    said = error.what();
  }
  transports[0].reset();
  other.join();
  CHECK(said == "rank 1 has hung up");
}

}  // namespace
}  // namespace shardplan
