#include "calibrate/launch/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/errors.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAtOnce = 1 << 20;
constexpr std::uint64_t kMostMessage = 1ULL << 36;
constexpr int kBacklog = 1024;
constexpr std::chrono::seconds kOneCall{5};  // then another: who did not listen may do so by now

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
}

// Until the descriptor is ready for `events` or the deadline has come.
bool is_ready(int descriptor, short events, Deadline deadline) {
  while (true) {
    pollfd entry{descriptor, events, 0};
    const int ready = poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR)
      throw EnvironmentError(std::string("cannot wait for a socket: ") + std::strerror(errno));
    if (Clock::now() >= deadline) return false;
  }
}

// One call: whether somebody answered by the deadline.
bool is_answered(const Socket& socket, const sockaddr_in& to, Deadline deadline) {
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    if (errno != EINPROGRESS || !is_ready(socket.get(), POLLOUT, deadline)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return false;
  }
  // A call to a free port of this host may be given that port itself, and answer itself.
  sockaddr_in own{};
  socklen_t size = sizeof own;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
  return own.sin_port != to.sin_port || own.sin_addr.s_addr != to.sin_addr.s_addr;
}

// Of callers that have gone again, and of networks: the next may come.
bool may_pass(int error) {
  for (const int passing :
       {EAGAIN, EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP}) {
    if (error == passing) return true;
  }
  return false;
}

sockaddr_in address_of(const std::string& name, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (status != 0)
    throw EnvironmentError("the address of rank 0, \"" + name + "\", is not known: " + gai_strerror(status));
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Socket listen_on(int port) {
  Socket result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(result.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound =
      result.is_open() && bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!bound || listen(result.get(), kBacklog) != 0) {
    throw EnvironmentError("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno) +
                           "; another MASTER_PORT may be free");
  }
  return result;
}

int port_of(const Socket& listening) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

Socket accept_until(const Socket& listening, Deadline deadline) {
  while (is_ready(listening.get(), POLLIN, deadline)) {
    const int descriptor = accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor >= 0) return Socket(descriptor);
    if (!may_pass(errno)) {
      throw EnvironmentError("cannot take a call on port " + std::to_string(port_of(listening)) + ": " +
                             std::strerror(errno));
    }
    if (Clock::now() >= deadline) break;
  }
  return Socket();
}

Socket call_until(const std::string& address, int port, Deadline deadline) {
  const sockaddr_in to = address_of(address, port);
  while (true) {
    Socket result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!result.is_open()) throw EnvironmentError(std::string("cannot open a socket: ") + std::strerror(errno));
    if (is_answered(result, to, std::min(deadline, Clock::now() + kOneCall))) return result;
    if (Clock::now() >= deadline) return Socket();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string peer_address(const Socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

bool is_loopback(std::string_view address) { return address.starts_with("127."); }

Connection::Connection(Socket socket) : socket_(std::move(socket)) {
  const int yes = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void Connection::send(std::string_view bytes) {
  const auto size = static_cast<std::uint64_t>(bytes.size());
  outgoing_.append(reinterpret_cast<const char*>(&size), sizeof size);
  outgoing_.append(bytes);
  write_some();
}

void Connection::write_some() {
  while (is_open() && written_ < outgoing_.size()) {
    const ssize_t count = ::send(socket_.get(), outgoing_.data() + written_, outgoing_.size() - written_, MSG_NOSIGNAL);
    if (count > 0)
      written_ += static_cast<std::size_t>(count);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      break;
    else if (errno != EINTR)
      outgoing_.clear();  // nobody reads any more; what has come can still be read
  }
  if (written_ >= outgoing_.size()) {
    outgoing_.clear();
    written_ = 0;
  }
}

void Connection::read_some() {
  char buffer[1 << 16];
  for (std::size_t taken = 0; is_open() && taken < kMostAtOnce;) {
    const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (count > 0) {
      incoming_.append(buffer, static_cast<std::size_t>(count));
      taken += static_cast<std::size_t>(count);
    } else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      ended_ = true;
    } else {
      break;
    }
  }
}

void Connection::move() {
  write_some();
  read_some();
}

bool Connection::receive(std::string& bytes) {
  std::uint64_t size = 0;
  if (incoming_.size() < sizeof size) return false;
  std::memcpy(&size, incoming_.data(), sizeof size);
  if (size > kMostMessage) {  // another program's bytes
    ended_ = true;
    incoming_.clear();
    return false;
  }
  if (incoming_.size() < sizeof size + size) return false;
  bytes = incoming_.substr(sizeof size, size);
  incoming_.erase(0, sizeof size + size);
  return true;
}

bool Connection::receive_until(std::string& bytes, Deadline deadline) {
  while (true) {
    move();
    if (receive(bytes)) return true;
    if (!is_open() || !is_ready(socket_.get(), POLLIN, deadline)) return false;
  }
}

void Connection::close_by(Deadline deadline) {
  while (is_open() && has_unsent() && is_ready(socket_.get(), POLLOUT, deadline)) write_some();
  if (socket_.is_open()) shutdown(socket_.get(), SHUT_WR);
  while (is_open() && is_ready(socket_.get(), POLLIN, deadline)) read_some();
}

}  // namespace shardplan
