#include "threads.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "clock.hpp"

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

double together(int threads, const std::vector<int>& cpus, const std::function<void(int)>& prepare,
                const std::function<void(int)>& work) {
  std::atomic<int> ready(0);
  std::atomic<bool> go(false);
  std::vector<double> ends(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      pin(cpus[i % cpus.size()]);
      prepare(i);
      ready.fetch_add(1);
      // Yielding, because there may be more threads than processors.
      while (!go.load()) sched_yield();
      work(i);
      ends[i] = now();
    });
  }
  while (ready.load() < threads) sched_yield();
  const double start = now();
  go.store(true);
  for (std::thread& thread : running) thread.join();
  return *std::max_element(ends.begin(), ends.end()) - start;
}
