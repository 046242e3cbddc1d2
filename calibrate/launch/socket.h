// What the socket wire needs of TCP: one listening socket, connections that are read and written without waiting.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace shardplan {

using Deadline = std::chrono::steady_clock::time_point;

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Listens on all addresses; port 0: any that is free. EnvironmentError when the port is taken.
[[nodiscard]] Socket listen_on(int port);
[[nodiscard]] int port_of(const Socket& listening);
// The next caller, or a closed socket at the deadline. EnvironmentError when this machine can take none.
[[nodiscard]] Socket accept_until(const Socket& listening, Deadline deadline);
// Calls again until somebody answers; a closed socket at the deadline. EnvironmentError for a name that is no host.
[[nodiscard]] Socket call_until(const std::string& address, int port, Deadline deadline);
// Numeric address of who is at the other end.
[[nodiscard]] std::string peer_address(const Socket& socket);
// Whether the address means another host to every host that reads it.
[[nodiscard]] bool is_loopback(std::string_view address);

// A connection that carries whole messages. Never waits, but for `receive_until` and `close_by`.
class Connection {
 public:
  Connection() = default;
  explicit Connection(Socket socket);

  void send(std::string_view bytes);
  // Writes what can be written, reads what is there.
  void move();
  bool receive(std::string& bytes);
  [[nodiscard]] bool is_open() const { return socket_.is_open() && !ended_; }
  [[nodiscard]] bool has_unsent() const { return !outgoing_.empty(); }
  // A message that must come by the deadline; false when it does not.
  bool receive_until(std::string& bytes, Deadline deadline);
  // Sends what is left and waits for the other end to do so.
  void close_by(Deadline deadline);
  [[nodiscard]] const Socket& socket() const { return socket_; }

 private:
  void read_some();
  void write_some();

  Socket socket_;
  bool ended_ = false;
  std::string outgoing_;
  std::size_t written_ = 0;
  std::string incoming_;
};

}  // namespace shardplan
