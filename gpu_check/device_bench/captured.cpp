#include "captured.hpp"

#include "pattern.hpp"

namespace {

const unsigned char kValue = 0x3c;

Driver::Address number(const void* address) { return reinterpret_cast<Driver::Address>(address); }

std::string returned(const char* call, Driver::Status status) {
  return status == 0 ? "" : std::string(call) + " returned " + std::to_string(status);
}

}  // namespace

const std::size_t Captured::kBytes;

Capturing::Capturing(const Driver& the_driver) : driver(the_driver) {
  need("cuStreamCreate", create);
  need("cuStreamDestroy_v2", destroy);
  need("cuStreamSynchronize", wait);
  need("cuMemsetD8Async", fill);
  need("cuMemcpyAsync", copy);
  need("cuStreamBeginCapture_v2", begin);
  need("cuStreamEndCapture", end);
  need("cuGraphInstantiateWithFlags", instantiate);
  need("cuGraphLaunch", launch);
  need("cuGraphDestroy", destroy_graph);
  need("cuGraphExecDestroy", destroy_instance);
}

Captured::Captured(const Capturing& calls, int mode, bool blocking)
    : calls_(calls),
      readback_(calls.driver, kBytes, true),
      from_(calls.driver.allocate(kBytes)),
      to_(calls.driver.allocate(kBytes)) {
  const unsigned kNonBlocking = 1;
  std::string wrong = returned("cuStreamCreate", calls.create(&stream_, blocking ? 0 : kNonBlocking));
  if (wrong.empty()) wrong = returned("cuStreamBeginCapture", calls.begin(stream_, mode));
  if (wrong.empty()) wrong = returned("cuMemsetD8Async", calls.fill(number(from_), kValue, kBytes, stream_));
  if (!wrong.empty()) die("a capture cannot begin: " + wrong);
}

std::string Captured::end() {
  const std::string added = returned("cuMemcpyAsync", calls_.copy(number(to_), number(from_), kBytes, stream_));
  const std::string ended = returned("cuStreamEndCapture", calls_.end(stream_, &graph_));
  if (!ended.empty()) return ended;
  return graph_ == nullptr ? "cuStreamEndCapture gave no graph" : added;
}

std::string Captured::replay() {
  void* instance = nullptr;
  std::string wrong = returned("cuGraphInstantiate", calls_.instantiate(&instance, graph_, 0));
  if (!wrong.empty()) return wrong;
  calls_.driver.fill(from_, kBytes, kPoison);
  calls_.driver.fill(to_, kBytes, kPoison);
  calls_.driver.synchronize();
  wrong = returned("cuGraphLaunch", calls_.launch(instance, stream_));
  if (wrong.empty()) wrong = returned("cuStreamSynchronize", calls_.wait(stream_));
  if (wrong.empty()) {
    calls_.driver.copy(readback_.get(), to_, kBytes);
    wrong = difference_from(readback_.get(), kValue, kBytes);
  }
  calls_.destroy_instance(instance);
  return wrong;
}

Captured::~Captured() {
  if (graph_ != nullptr) calls_.destroy_graph(graph_);
  calls_.destroy(stream_);
  calls_.driver.free(from_);
  calls_.driver.free(to_);
}
