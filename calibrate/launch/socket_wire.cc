#include "calibrate/launch/socket_wire.h"

#include <map>
#include <vector>

#include "base/errors.h"
#include "calibrate/byte_stream.h"
#include "calibrate/launch/socket.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kGreeting = "shardplan rank";
constexpr std::chrono::seconds kFarewell{2};
constexpr std::chrono::seconds kIntroduction{5};  // for whoever has called

// How a process introduces itself.
struct Hello {
  int rank = 0;
  int ranks = 0;
  int port = 0;  // where it listens
  std::string version;

  [[nodiscard]] std::string bytes() const {
    ByteWriter out;
    out.text(kGreeting);
    out.number(rank);
    out.number(ranks);
    out.number(port);
    out.text(version);
    return out.take();
  }
  // False for anything else than a rank's greeting.
  bool read(const std::string& bytes) {
    try {
      ByteReader in(bytes);
      if (in.text() != kGreeting) return false;
      rank = in.number<int>();
      ranks = in.number<int>();
      port = in.number<int>();
      version = in.text();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
};

struct Host {
  std::string address;  // "": the host of rank 0, however one calls it
  int port = 0;
};

class SocketWire : public Wire {
 public:
  SocketWire(const LaunchedRank& self, std::string version, std::chrono::milliseconds patience)
      : self_(self),
        version_(std::move(version)),
        deadline_(Clock::now() + patience),
        peers_(static_cast<std::size_t>(self.ranks)) {
    if (self.ranks == 1) return;
    listening_ = listen_on(self.rank == 0 ? self.port : 0);
    if (self.rank == 0)
      gather();
    else
      join();
    listening_ = Socket();
  }
  ~SocketWire() override {
    const Deadline deadline = Clock::now() + kFarewell;
    for (Connection& peer : peers_) peer.close_by(deadline);
  }

  [[nodiscard]] int rank() const override { return self_.rank; }
  [[nodiscard]] int ranks() const override { return self_.ranks; }

  void send(int to, std::string bytes) override { peers_[static_cast<std::size_t>(to)].send(bytes); }

  bool receive(int& from, std::string& bytes) override {
    for (int i = 0; i < ranks(); ++i) {  // fairly: each in turn
      const int peer = (next_ + i) % ranks();
      Connection& connection = peers_[static_cast<std::size_t>(peer)];
      if (peer == rank()) continue;
      connection.move();
      if (!connection.receive(bytes)) continue;
      from = peer;
      next_ = (peer + 1) % ranks();
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_gone(int peer) const override {
    return peer != rank() && !peers_[static_cast<std::size_t>(peer)].is_open();
  }

 private:
  [[nodiscard]] std::string world() const { return std::to_string(ranks()) + " ranks of " + self_.launcher; }

  void check_version(const Hello& hello) const {
    if (hello.version == version_) return;
    throw EnvironmentError("rank " + std::to_string(hello.rank) + " runs version " + hello.version + ", rank " +
                           std::to_string(rank()) + " version " + version_ + ": all ranks must run the same program");
  }

  // The next caller that is a rank of this run; false at the deadline.
  bool meet(Hello& hello, Connection& connection) {
    while (true) {
      Socket socket = accept_until(listening_, deadline_);
      if (!socket.is_open()) return false;
      connection = Connection(std::move(socket));
      std::string bytes;
      if (!connection.receive_until(bytes, std::min(deadline_, Clock::now() + kIntroduction)) || !hello.read(bytes))
        continue;  // somebody else
      check_version(hello);
      if (hello.ranks != ranks() || hello.rank <= 0 || hello.rank >= ranks()) {
        throw EnvironmentError("a process says that it is rank " + std::to_string(hello.rank) + " of " +
                               std::to_string(hello.ranks) + ", among " + world());
      }
      if (peers_[static_cast<std::size_t>(hello.rank)].socket().is_open()) {
        throw EnvironmentError("two processes say that they are rank " + std::to_string(hello.rank) + " of " +
                               std::to_string(ranks()));
      }
      return true;
    }
  }

  [[noreturn]] void fail_missing(int first) const {
    std::string missing;
    for (int peer = first; peer < ranks(); ++peer) {
      if (!peers_[static_cast<std::size_t>(peer)].socket().is_open())
        missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
    }
    throw EnvironmentError("rank " + std::to_string(rank()) + " waited for the " + world() + ": no word of rank " +
                           missing);
  }

  // Rank 0: everybody calls; everybody is told where the others are.
  void gather() {
    std::vector<Host> hosts(peers_.size());
    for (int left = ranks() - 1; left > 0; --left) {
      Hello hello;
      Connection connection;
      if (!meet(hello, connection)) fail_missing(1);
      const auto at = static_cast<std::size_t>(hello.rank);
      const std::string address = peer_address(connection.socket());
      hosts[at] = {is_loopback(address) ? "" : address, hello.port};
      peers_[at] = std::move(connection);
    }
    ByteWriter out;
    out.text(version_);
    for (const Host& host : hosts) {
      out.text(host.address);
      out.number(host.port);
    }
    const std::string table = out.take();
    for (int peer = 1; peer < ranks(); ++peer) peers_[static_cast<std::size_t>(peer)].send(table);
  }

  [[nodiscard]] Connection introduce_to(const Host& host, int peer) {
    Socket socket = call_until(host.address, host.port, deadline_);
    if (!socket.is_open()) {
      throw EnvironmentError("rank " + std::to_string(rank()) + ": nobody answers at " + host.address + ":" +
                             std::to_string(host.port) + ", where rank " + std::to_string(peer) + " of the " + world() +
                             " should be");
    }
    Connection connection(std::move(socket));
    connection.send(Hello{rank(), ranks(), port_of(listening_), version_}.bytes());
    return connection;
  }

  // Every other rank: calls rank 0, then those below it; those above call.
  void join() {
    peers_[0] = introduce_to({self_.address, self_.port}, 0);
    std::string bytes;
    if (!peers_[0].receive_until(bytes, deadline_))
      throw EnvironmentError("rank " + std::to_string(rank()) + ": rank 0 did not gather the " + world());
    ByteReader in(bytes);
    check_version({0, ranks(), 0, in.text()});
    std::vector<Host> hosts(peers_.size());
    for (Host& host : hosts) {
      host.address = in.text();
      if (host.address.empty()) host.address = self_.address;
      host.port = in.number<int>();
    }
    for (int peer = 1; peer < rank(); ++peer)
      peers_[static_cast<std::size_t>(peer)] = introduce_to(hosts[static_cast<std::size_t>(peer)], peer);
    for (int left = ranks() - 1 - rank(); left > 0; --left) {
      Hello hello;
      Connection connection;
      if (!meet(hello, connection)) fail_missing(rank() + 1);
      peers_[static_cast<std::size_t>(hello.rank)] = std::move(connection);
    }
  }

  LaunchedRank self_;
  std::string version_;
  Deadline deadline_;
  std::vector<Connection> peers_;  // by rank; the own one stays closed
  Socket listening_;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<Wire> connect_sockets(const LaunchedRank& self, const std::string& version,
                                      std::chrono::milliseconds patience) {
  return std::make_unique<SocketWire>(self, version, patience);
}

}  // namespace shardplan
