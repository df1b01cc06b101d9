// NCCL for devices of one process: each device's part waits in its stream for the others' parts, and one of them does the work. Ranks are
// added in their order, so that the sum is the same each time.
#include "nccl.h"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace {

struct Group {
  explicit Group(size_t count) : parts(count) {}

  struct Part {
    const void* from;
    void* to;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Part> parts;
  size_t arrived = 0;
  unsigned round = 0;

  // The last one to arrive works for all; all leave when it has.
  template <typename WorkForAll>
  void meet(int rank, Part part, WorkForAll work) {
    std::unique_lock<std::mutex> lock(mutex);
    const unsigned mine = round;
    parts[rank] = part;
    if (++arrived == parts.size()) {
      work(parts);
      arrived = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return round != mine; });
  }
};

template <typename Number>
void add(const std::vector<Group::Part>& parts, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Number sum = 0;
    for (const auto& part : parts) sum += static_cast<const Number*>(part.from)[i];
    for (const auto& part : parts) static_cast<Number*>(part.to)[i] = sum;
  }
}

ncclResult_t result(cudaError_t error) { return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError; }

}  // namespace

struct ncclComm {
  std::shared_ptr<Group> group;
  int rank;
};

extern "C" {

// Devices of several processes are not simulated.
ncclResult_t ncclGetUniqueId(ncclUniqueId*) { return ncclInvalidUsage; }
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int) { return ncclInvalidUsage; }

ncclResult_t ncclCommInitAll(ncclComm_t* members, int count, const int*) {
  const auto group = std::make_shared<Group>(count);
  for (int rank = 0; rank < count; ++rank) members[rank] = new ncclComm{group, rank};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t member) {
  delete member;
  return ncclSuccess;
}
ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t member, cudaStream_t stream) {
  const size_t bytes = count * (type == ncclFloat ? sizeof(float) : sizeof(double));
  return result(host_cuda::queue("ncclBcast", stream, {{data, true}}, [=, group = member->group, rank = member->rank](void* const* here) {
    group->meet(rank, {here[0], here[0]}, [=](const std::vector<Group::Part>& parts) {
      for (const auto& part : parts)
        if (part.to != parts[root].from) std::memcpy(part.to, parts[root].from, bytes);
    });
  }));
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t member,
                           cudaStream_t stream) {
  const std::vector<host_cuda::Use> uses = {{from, false}, {to, true}};
  return result(host_cuda::queue("ncclAllReduce", stream, uses, [=, group = member->group, rank = member->rank](void* const* here) {
    group->meet(rank, {here[0], here[1]}, [=](const std::vector<Group::Part>& parts) {
      if (type == ncclFloat) add<float>(parts, count);
      else add<double>(parts, count);
    });
  }));
}
const char* ncclGetErrorString(ncclResult_t result) { return result == ncclSuccess ? "no error" : "the collective could not be queued"; }
}
