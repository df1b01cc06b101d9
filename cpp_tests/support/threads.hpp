// Threads that run the same work at the same time.
#ifndef SUPPORT_THREADS_HPP
#define SUPPORT_THREADS_HPP

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr int readers = 8;

/// The number of rounds of each race; SYNCEDMEM_TESTS_ROUNDS lowers it for slow tools.
inline int rounds() {
  const char* asked = std::getenv("SYNCEDMEM_TESTS_ROUNDS");
  return asked ? std::atoi(asked) : 200;
}

/// Runs `work(i)` on `readers` threads that start together.
template <typename Work>
void at_once(Work work) {
  std::atomic<int> waiting(readers);
  std::vector<std::thread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&waiting, &work, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#endif  // SUPPORT_THREADS_HPP
