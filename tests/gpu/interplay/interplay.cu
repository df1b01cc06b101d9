// The library beside kernels, used as Caffe uses it: kernels on the legacy default stream, cudaSetDevice, a
// non-blocking stream that prefetches, objects that are freed by other threads or after main. It is linked with
// libsyncedmem and knows the class as Caffe's header declares it.
// By the CUDA runtime where there is nvcc, else by driver calls (driver_calls.hpp), with a host compiler alone:
//
//   nvcc -std=c++17 -Xcompiler -pthread -Iinclude -Icpp_tests interplay.cu -o interplay -Llib -lsyncedmem
//   g++ -x c++ -std=c++17 -pthread -DBY_DRIVER_CALLS … interplay.cu … -ldl
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef BY_DRIVER_CALLS
#include "driver_calls.hpp"
#else
#include <cuda_runtime.h>
#endif

#include "generations/bvlc_master.hpp"
#include "syncedmem.h"

using caffe::SyncedMemory;

namespace {

const int kCount = 1 << 20;
const std::size_t kBytes = kCount * sizeof(int);

#ifndef BY_DRIVER_CALLS
// out[i] = in[i] * factor + offset; without `in`, i + offset.
__global__ void affine(int* out, const int* in, int count, int factor, int offset) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = (in != nullptr ? in[i] * factor : i) + offset;
}

void launch(cudaStream_t stream, int* out, const int* in, int count, int factor, int offset) {
  affine<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(out, in, count, factor, offset);
}
#endif

int passed = 0, failed = 0;

void report(const char* sentence, const std::string& wrong) {
  if (wrong.empty()) {
    ++passed;
    std::printf("ok - %s\n", sentence);
  } else {
    ++failed;
    std::printf("not ok - %s (%s)\n", sentence, wrong.c_str());
  }
  std::fflush(stdout);
}

// "" or what the runtime said.
std::string error_of(cudaError_t status, const char* call) {
  return status == cudaSuccess ? "" : std::string(call) + ": " + cudaGetErrorString(status);
}

int* ints(void* data) { return static_cast<int*>(data); }
const int* ints(const void* data) { return static_cast<const int*>(data); }

// "" or the first element that is not i * factor + offset.
std::string differs(const int* data, int factor, int offset) {
  for (int i = 0; i < kCount; ++i) {
    if (data[i] != i * factor + offset) {
      const std::string expected = std::to_string(i * factor + offset);
      return "element " + std::to_string(i) + " is " + std::to_string(data[i]) + ", not " + expected;
    }
  }
  return "";
}

void write(int* data, int factor, int offset) {
  for (int i = 0; i < kCount; ++i) data[i] = i * factor + offset;
}

// --- in one process -------------------------------------------------------------------------

std::string the_host_reads_what_a_kernel_wrote() {
  SyncedMemory memory(kBytes);
  launch(nullptr, ints(memory.mutable_gpu_data()), nullptr, kCount, 1, 7);
  // Nothing is synchronised here: the copy comes after the kernel, on the same stream.
  return differs(ints(memory.cpu_data()), 1, 7);
}

std::string a_kernel_reads_what_the_host_wrote() {
  SyncedMemory in(kBytes), out(kBytes);
  write(ints(in.mutable_cpu_data()), 3, 1);
  launch(nullptr, ints(out.mutable_gpu_data()), ints(in.gpu_data()), kCount, 2, 5);
  return differs(ints(out.cpu_data()), 6, 7);
}

std::string data_goes_back_and_forth() {
  SyncedMemory memory(kBytes);
  write(ints(memory.mutable_cpu_data()), 1, 0);
  for (int round = 0; round < 10; ++round) {
    int* device = ints(memory.mutable_gpu_data());
    launch(nullptr, device, device, kCount, 1, 1);
    int* host = ints(memory.mutable_cpu_data());
    for (int i = 0; i < kCount; ++i) ++host[i];
  }
  return differs(ints(memory.cpu_data()), 1, 20);
}

std::string untouched_device_data_is_zero() {
  SyncedMemory memory(kBytes), out(kBytes);
  launch(nullptr, ints(out.mutable_gpu_data()), ints(memory.gpu_data()), kCount, 1, 9);
  const int* data = ints(out.cpu_data());
  for (int i = 0; i < kCount; ++i) {
    if (data[i] != 9) return "element " + std::to_string(i) + " was " + std::to_string(data[i] - 9);
  }
  return "";
}

std::string a_non_blocking_stream_prefetches() {
  SyncedMemory in(kBytes), out(kBytes);
  cudaStream_t stream = nullptr;
  std::string wrong = error_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  if (!wrong.empty()) return wrong;
  int* result = ints(out.mutable_gpu_data());
  cudaDeviceSynchronize();
  for (int round = 0; round < 5 && wrong.empty(); ++round) {
    write(ints(in.mutable_cpu_data()), 1, round);
    in.async_gpu_push(stream);
    if (in.head() != SyncedMemory::SYNCED) wrong = "the head is not SYNCED after the push";
    launch(stream, result, ints(in.gpu_data()), kCount, 1, 1);
    cudaStreamSynchronize(stream);
    out.mutable_gpu_data();
    if (wrong.empty()) wrong = differs(ints(out.cpu_data()), 1, round + 1);
    result = ints(out.mutable_gpu_data());
  }
  cudaStreamDestroy(stream);
  return wrong;
}

std::string a_pushed_object_outlives_its_stream() {
  std::unique_ptr<SyncedMemory> memory(new SyncedMemory(kBytes));
  write(ints(memory->mutable_cpu_data()), 1, 2);
  cudaStream_t stream = nullptr;
  const cudaError_t created = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (created != cudaSuccess) return error_of(created, "cudaStreamCreateWithFlags");
  memory->async_gpu_push(stream);
  cudaStreamDestroy(stream);
  memory.reset();
  return error_of(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

std::string an_object_is_freed_by_another_thread() {
  cudaDeviceSynchronize();
  std::size_t before = 0, within = 0, after = 0, total = 0;
  const std::size_t large = std::size_t(48) << 20;
  // Idle blocks of earlier objects would serve this one, or be given back meanwhile.
  syncedmem_trim(SYNCEDMEM_MEMORY_ALL);
  cudaMemGetInfo(&before, &total);
  SyncedMemory* memory = new SyncedMemory(large);
  memory->mutable_gpu_data();
  memory->cpu_data();
  cudaMemGetInfo(&within, &total);
  // It has used neither cudaSetDevice nor anything else of CUDA.
  std::thread([memory] { delete memory; }).join();
  syncedmem_trim(SYNCEDMEM_MEMORY_ALL);
  cudaMemGetInfo(&after, &total);
  if (before < within + large) return "the block took less memory than it has";
  return after >= within + large ? "" : "the block's memory did not come back";
}

// The library knows nothing of that stream.
std::string a_block_that_a_stream_still_writes_is_not_handed_out() {
  cudaStream_t stream = nullptr;
  std::string wrong = error_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (int round = 0; round < 5 && wrong.empty(); ++round) {
    std::unique_ptr<SyncedMemory> written(new SyncedMemory(kBytes));
    int* data = ints(written->mutable_gpu_data());
    cudaDeviceSynchronize();
    for (int kernel = 0; kernel < 100; ++kernel) launch(stream, data, data, kCount, 1, 1);
    written.reset();
    SyncedMemory next(kBytes);
    next.mutable_gpu_data();
    cudaStreamSynchronize(stream);
    wrong = differs(ints(next.cpu_data()), 0, 0);
  }
  cudaStreamDestroy(stream);
  return wrong;
}

std::string threads_work_side_by_side() {
  std::vector<std::string> wrong(8);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&wrong, thread] {
      cudaSetDevice(0);
      const int offset = static_cast<int>(thread);
      for (int round = 0; round < 5 && wrong[thread].empty(); ++round) {
        SyncedMemory memory(kBytes);
        launch(nullptr, ints(memory.mutable_gpu_data()), nullptr, kCount, 1, offset);
        wrong[thread] = differs(ints(memory.cpu_data()), 1, offset);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong) {
    if (!one.empty()) return one;
  }
  return "";
}

std::string a_block_is_where_cuda_set_device_says() {
  int count = 0, now = -1;
  cudaGetDeviceCount(&count);
  std::string wrong;
  for (int device = 0; device < count && wrong.empty(); ++device) {
    cudaSetDevice(device);
    SyncedMemory memory(kBytes);
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, memory.mutable_gpu_data());
    if (attributes.device != device) wrong = "it is on device " + std::to_string(attributes.device);
    cudaGetDevice(&now);
    if (now != device) wrong = "the current device has become " + std::to_string(now);
  }
  cudaSetDevice(0);
  return wrong;
}

std::string in_gpu_mode_host_memory_is_page_locked() {
  SyncedMemory memory(kBytes);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, memory.cpu_data());
  return attributes.type == cudaMemoryTypeHost ? "" : "the runtime does not know it as page-locked";
}

std::string borrowed_device_memory_stays_the_callers() {
  void* mine = nullptr;
  std::string wrong = error_of(cudaMalloc(&mine, kBytes), "cudaMalloc");
  if (!wrong.empty()) return wrong;
  {
    SyncedMemory memory(kBytes);
    launch(nullptr, ints(mine), nullptr, kCount, 1, 4);
    memory.set_gpu_data(mine);
    if (memory.gpu_data() != mine) wrong = "gpu_data() is another address";
    if (wrong.empty()) wrong = differs(ints(memory.cpu_data()), 1, 4);
  }
  const std::string at_free = error_of(cudaFree(mine), "cudaFree");
  return wrong.empty() ? at_free : wrong;
}

std::string borrowed_host_memory_stays_the_callers() {
  void* mine = nullptr;
  std::string wrong = error_of(cudaMallocHost(&mine, kBytes), "cudaMallocHost");
  if (!wrong.empty()) return wrong;
  {
    SyncedMemory memory(kBytes);
    memory.set_cpu_data(mine);
    launch(nullptr, ints(memory.mutable_gpu_data()), nullptr, kCount, 1, 6);
    wrong = differs(ints(memory.cpu_data()), 1, 6);
    if (wrong.empty()) wrong = differs(ints(mine), 1, 6);
  }
  const std::string at_free = error_of(cudaFreeHost(mine), "cudaFreeHost");
  return wrong.empty() ? at_free : wrong;
}

std::string nothing_has_left_an_error() { return error_of(cudaGetLastError(), "cudaGetLastError"); }

// --- the end of a process -------------------------------------------------------------------

// Destroyed after main, when the runtime may be gone.
struct Statics {
  std::unique_ptr<SyncedMemory> one, two;
};
Statics statics;

void use(SyncedMemory& memory) {
  launch(nullptr, ints(memory.mutable_gpu_data()), nullptr, kCount, 1, 0);
  memory.cpu_data();
  memory.mutable_cpu_data();
}

int end(const std::string& how) {
  if (how == "early-static") statics.one.reset(new SyncedMemory(kBytes));
  cudaSetDevice(0);
  if (how == "atexit") {
    std::atexit([] { statics.one.reset(); });
  }
  if (!statics.one) statics.one.reset(new SyncedMemory(kBytes));
  statics.two.reset(new SyncedMemory(kBytes));
  use(*statics.one);
  use(*statics.two);
  if (how == "pushed") {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    statics.two->async_gpu_push(stream);
  }
  if (how == "reset") {
    cudaDeviceSynchronize();
    cudaDeviceReset();
  }
  if (how == "thread") {
    std::thread([] { std::exit(0); }).join();
  }
  return 0;
}

// Runs this program again, to its end: it has to end with status 0 and without a word.
std::string ends_silently(const char* program, const char* how) {
  int out[2];
  if (pipe(out) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    close(out[0]);
    close(out[1]);
    alarm(30);
    execl(program, program, "--end", how, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(out[1]);
  std::string said;
  char part[1024];
  for (ssize_t got; (got = read(out[0], part, sizeof part)) > 0;) said.append(part, static_cast<std::size_t>(got));
  close(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + "; it said: " + said;
  if (WEXITSTATUS(status) != 0) return "status " + std::to_string(WEXITSTATUS(status)) + "; it said: " + said;
  return said.empty() ? "" : "it said: " + said;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--end") == 0) {
    syncedmem_set_mode(SYNCEDMEM_MODE_GPU);
    return end(argv[2]);
  }
  // The children come first: a process that uses CUDA must not fork.
  for (const char* how : {"static", "early-static", "atexit", "pushed", "reset", "thread"}) {
    const std::string sentence = std::string("a process ends silently: ") + how;
    report(sentence.c_str(), ends_silently("/proc/self/exe", how));
  }
  const std::string first = error_of(cudaSetDevice(0), "cudaSetDevice");
  if (!first.empty()) {
    std::fprintf(stderr, "interplay: %s\n", first.c_str());
    return 2;
  }
  syncedmem_set_mode(SYNCEDMEM_MODE_GPU);
  const char* status = nullptr;
  report("the library finds the GPU", syncedmem_cuda_status(&status) == SYNCEDMEM_SUCCESS ? "" : status);
  report("the host reads what a kernel wrote", the_host_reads_what_a_kernel_wrote());
  report("a kernel reads what the host wrote", a_kernel_reads_what_the_host_wrote());
  report("data goes back and forth", data_goes_back_and_forth());
  report("untouched device data is zero", untouched_device_data_is_zero());
  report("a non-blocking stream prefetches", a_non_blocking_stream_prefetches());
  report("a pushed object outlives its stream", a_pushed_object_outlives_its_stream());
  report("an object is freed by another thread", an_object_is_freed_by_another_thread());
  report("a block that a stream still writes is not handed out",
         a_block_that_a_stream_still_writes_is_not_handed_out());
  report("threads work side by side", threads_work_side_by_side());
  report("a block is where cudaSetDevice says", a_block_is_where_cuda_set_device_says());
  report("in GPU mode, host memory is page-locked", in_gpu_mode_host_memory_is_page_locked());
  report("borrowed device memory stays the caller's", borrowed_device_memory_stays_the_callers());
  report("borrowed host memory stays the caller's", borrowed_host_memory_stays_the_callers());
  report("no launch and no call has left an error", nothing_has_left_an_error());
#ifdef BY_DRIVER_CALLS
  if (by_driver::is_simulated()) report("the simulated driver saw no rule broken", broken_rules());
#endif
  std::printf("interplay: %d passed, %d failed, 0 skipped\n", passed, failed);
  return failed ? 1 : 0;
}
