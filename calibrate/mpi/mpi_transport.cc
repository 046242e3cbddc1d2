#include "calibrate/mpi/mpi_transport.h"

#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <limits>
#include <list>

#include "base/errors.h"
#include "calibrate/launch/letter_transport.h"

namespace shardplan {
namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw EnvironmentError(std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

// Never calls a collective of MPI, which would hang with a lost rank.
class MpiWire : public Wire {
 public:
  MpiWire() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI does not start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiWire() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return size_; }

  void send(int to, std::string bytes) override {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw EnvironmentError("a message of " + std::to_string(bytes.size()) + " bytes: MPI takes 2 GiB at once");
    Outgoing& outgoing = outgoing_.emplace_back();
    outgoing.bytes = std::move(bytes);
    check(MPI_Isend(outgoing.bytes.data(), static_cast<int>(outgoing.bytes.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD,
                    &outgoing.request),
          "MPI cannot send");
    outgoing_.remove_if([](Outgoing& o) {
      int done = 0;
      MPI_Test(&o.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  bool receive(int& from, std::string& bytes) override {
    int there = 0;
    MPI_Status status;
    MPI_Message handle = MPI_MESSAGE_NULL;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &handle, &status), "MPI cannot receive");
    if (there == 0) return false;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    bytes.assign(static_cast<std::size_t>(size), '\0');
    check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, &status), "MPI cannot receive");
    from = status.MPI_SOURCE;
    return true;
  }

 private:
  struct Outgoing {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  int rank_ = 0;
  int size_ = 1;
  std::list<Outgoing> outgoing_;
};

}  // namespace

bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

std::shared_ptr<Transport> join_mpi() { return std::make_shared<LetterTransport>(std::make_unique<MpiWire>()); }

}  // namespace shardplan
