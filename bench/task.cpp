#include "task.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "blobs.hpp"
#include "churn.hpp"
#include "nets.hpp"
#include "random.hpp"

namespace {

std::function<double()> churn_of(const Library& library, const std::string& name, Touch touch) {
  struct State {
    unsigned next = 0;
  };
  const auto state = std::make_shared<State>();
  // Images to a sample, after some that are not timed: the other library has had its turn meanwhile.
  const unsigned untimed = name == "alexnet" ? 5 : 1, timed = name == "alexnet" ? 10 : 3;
  return [=, &library] {
    double sum = 0;
    for (unsigned i = 0; i < untimed + timed; ++i) {
      const double sample = churn(library, net_of_image(name, state->next++), touch);
      if (i >= untimed) sum += sample;
    }
    return sum / timed;
  };
}

Access access_of(const std::string& word) { return word == "overwrite" ? Access::kWriteOnly : Access::kMutable; }

// Once untimed before each sample, for what the other library's turn has cooled down.
std::function<double()> twice(const std::function<double()>& work) {
  return [=] {
    work();
    return work();
  };
}

std::vector<std::size_t> image_sizes(unsigned images) {
  std::vector<std::size_t> sizes;
  for (unsigned image = 0; image < images; ++image) {
    sizes.push_back(net_of_image("faster_rcnn", image).blobs[0].bytes);
  }
  return sizes;
}

}  // namespace

std::function<double()> task_of(const Library& library, const std::vector<std::string>& words,
                                const std::vector<int>& cpus) {
  const std::string& kind = words.at(0);
  if (kind == "churn") return churn_of(library, words.at(1), words.at(2) == "full" ? Touch::kFull : Touch::kPages);
  if (kind == "small") {
    const auto work = words.at(1) == "alive" ? all_alive : one_by_one;
    const std::vector<std::size_t> sizes = small_sizes(10000);
    return twice([=, &library] { return work(library, sizes); });
  }
  if (kind == "random") {
    const Sizes sizes = words.at(1) == "even" ? Sizes::kEven : Sizes::kSmall;
    const auto state = std::make_shared<RandomSizes>(library, sizes);
    return [=] { return state->step(); };
  }
  if (kind == "hand_over") {
    const std::size_t bytes = std::stoul(words.at(1));
    const int items = bytes < (1 << 20) ? 400 : bytes < (16 << 20) ? 100 : 16;
    const Access access = access_of(words.at(2));
    return twice([=, &library] { return hand_over(library, bytes, items, access, cpus); });
  }
  if (kind == "prefetch") {
    const Access access = access_of(words.at(1));
    const std::vector<std::size_t> images = image_sizes(16);
    return twice([=, &library] { return prefetch(library, images, access, cpus); });
  }
  std::fprintf(stderr, "bench: there is no task %s\n", kind.c_str());
  std::exit(2);
}

void settle() {
  void* volatile block = std::malloc(4096 * 1000 * sizeof(float));
  std::free(block);
}
