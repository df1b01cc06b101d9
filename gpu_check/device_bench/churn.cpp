#include "churn.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "bench/nets.hpp"
#include "report.hpp"
#include "reuse_figures.hpp"
#include "sections.hpp"
#include "watch.hpp"

namespace {

// Work in flight counts if that was asked for, never for the next subject.
double end(const Watch& watch, const Driver& driver, bool in_full) {
  const double returned = watch.nanoseconds();
  driver.synchronize();
  return in_full ? watch.nanoseconds() : returned;
}

}  // namespace

double churn_library(const Library& library, const Driver& driver, const Image& image, bool zeroed) {
  std::vector<syncedmem_t*> objects(image.size());
  void* data = nullptr;
  const Watch watch;
  for (std::size_t i = 0; i < image.size(); ++i) {
    library.must(library.create(image[i], &objects[i]), "create");
    library.must((zeroed ? library.mutable_gpu_data : library.overwrite_gpu_data)(objects[i], &data), "gpu_data");
  }
  for (syncedmem_t* object : objects) library.must(library.destroy(object), "destroy");
  return end(watch, driver, zeroed);
}

template <typename Allocator>
double churn_raw(const Allocator& allocator, const Driver& driver, const Image& image, bool zeroed) {
  std::vector<void*> blocks(image.size());
  const Watch watch;
  for (std::size_t i = 0; i < image.size(); ++i) {
    blocks[i] = allocator.allocate(image[i]);
    if (zeroed) allocator.fill(blocks[i], image[i]);
  }
  for (void* block : blocks) allocator.free(block);
  return end(watch, driver, zeroed);
}
template double churn_raw(const Driver&, const Driver&, const Image&, bool);
template double churn_raw(const Runtime&, const Driver&, const Image&, bool);
template double churn_raw(const Pool&, const Driver&, const Image&, bool);

namespace {

struct Named {
  const char* id;
  std::string name;
  bool varies;
};
const Named kNets[] = {
    {"alexnet", "AlexNet", false}, {"vgg16", "VGG-16", false}, {"faster_rcnn", "Faster R-CNN, sizes vary", true}};
const unsigned kImages = 64;

std::size_t bytes_of(const Image& image) { return std::accumulate(image.begin(), image.end(), std::size_t(0)); }

// If --largest is less than the largest blob, all are smaller in proportion.
std::vector<Image> images_of(const char* id, std::size_t largest) {
  std::vector<Image> images(kImages);
  std::size_t most = 0;
  for (unsigned number = 0; number < kImages; ++number) {
    for (const NetBlob& blob : net_of_image(id, number).blobs) images[number].push_back(blob.bytes);
    most = std::max(most, *std::max_element(images[number].begin(), images[number].end()));
  }
  if (most <= largest) return images;
  const double share = static_cast<double>(largest) / static_cast<double>(most);
  for (Image& image : images) {
    for (std::size_t& bytes : image) {
      bytes = std::max<std::size_t>(4, static_cast<std::size_t>(std::llround(static_cast<double>(bytes) * share)));
    }
  }
  return images;
}

// In the same order for every subject. A sample is the mean of some images.
std::function<double()> in_turn(const std::vector<Image>& images, unsigned together,
                                const std::function<double(const Image&)>& work) {
  const std::shared_ptr<std::size_t> next(new std::size_t(0));
  return [&images, together, work, next] {
    double sum = 0;
    for (unsigned i = 0; i < together; ++i) sum += work(images[(*next)++ % images.size()]);
    return sum / together;
  };
}

// The time of the driver's stream-ordered allocator by the library's: the least and the most of some rows.
struct Range {
  double least = 1e9, most = 0;

  void add(const Row& row) {
    const double ratio = row.times.back().median / row.times.front().median;
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  bool empty() const { return most == 0; }
  std::string text() const { return readable_number("%.2f", least) + " to " + readable_number("%.2f", most); }
};

// With images of different sizes the library's pool calls the driver again and again.
struct Compared {
  Range all, varying;
};

// The simulated driver counts its calls, which are the same on a GPU whose pool may keep as much.
std::string how_many_are_allocated(const Bench& bench, const std::vector<Image>& images, const Named& net) {
  const std::size_t before = bench.driver.calls("cuMemAlloc");
  std::size_t blobs = 0;
  for (std::size_t i = 0; i < images.size() / 2; ++i) {
    churn_library(bench.library, bench.driver, images[i], false);
    blobs += images[i].size();
  }
  const double share = static_cast<double>(bench.driver.calls("cuMemAlloc") - before) / static_cast<double>(blobs);
  bench.expect("of " + net.name + ", at most a twentieth of the blocks is allocated anew", net.varies || share <= 0.05);
  return net.name + ": " + readable_number("%.1f %%", 100 * share) + " of the blocks were allocated anew.";
}

void rows(Bench& bench, bool zeroed, Compared& compared, ReuseFigures& figures) {
  const Driver& driver = bench.driver;
  const Library& library = bench.library;
  std::vector<std::string> names = {"library, synchronised", "library, stream", "cuMemAlloc"};
  if (bench.runtime.there()) names.push_back("cudaMalloc");
  if (driver.has_pool()) names.push_back("cuMemAllocAsync");
  bench.section("A net's device blocks per image" + std::string(zeroed ? ", zeroed" : ""), names);
  std::vector<std::string> notes;
  for (const Named& net : kNets) {
    const std::string id = std::string("churn.") + net.id + (zeroed ? ".zeroed" : "");
    const std::vector<Image> images = images_of(net.id, bench.largest(4 * kGiB));
    std::size_t most = 0;
    for (const Image& image : images) most = std::max(most, bytes_of(image));
    // Two pools keep memory, and a third of that is in use.
    if (!bench.fits(3 * most, 0)) {
      const double gibibytes = static_cast<double>(most) / static_cast<double>(kGiB);
      report::skipped(id, readable_number("no room for %.1f GiB three times", gibibytes));
      continue;
    }
    const unsigned together = driver.simulated ? 1 : 4;
    std::vector<Contestant> contestants;
    const auto compete = [&](const std::function<double(const Image&)>& work) {
      contestants.push_back({names[contestants.size()], in_turn(images, together, work)});
    };
    for (const int reuse : {SYNCEDMEM_REUSE_SYNCHRONISED, SYNCEDMEM_REUSE_STREAM}) {
      compete([&, reuse](const Image& image) {
        library.must(library.set_reuse(reuse), "set_reuse");
        return churn_library(library, driver, image, zeroed);
      });
    }
    compete([&](const Image& image) { return churn_raw(driver, driver, image, zeroed); });
    if (bench.runtime.there()) {
      compete([&](const Image& image) { return churn_raw(bench.runtime, driver, image, zeroed); });
    }
    if (driver.has_pool()) {
      compete([&](const Image& image) { return churn_raw(Pool(driver), driver, image, zeroed); });
    }
    const Bound bound = {Bound::kShare, 0.2, bench.runtime.there() ? 3u : 2u};
    if (!bench.row(id, net.name, 0, contestants, zeroed ? kNoBound : bound)) continue;
    figures.add(bench.last());
    if (driver.simulated && !zeroed) notes.push_back(how_many_are_allocated(bench, images, net));
    if (driver.has_pool()) {
      compared.all.add(bench.last());
      if (net.varies) compared.varying.add(bench.last());
      driver.empty_pool();
    }
    library.must(library.trim(SYNCEDMEM_MEMORY_DEVICE), "trim");
  }
  for (const std::string& note : notes) bench.say(note);
}

void decide(const Bench& bench, const Compared& compared) {
  if (compared.varying.empty()) {
    return bench.say("The driver's stream-ordered allocator could not be measured here where sizes vary.");
  }
  bench.say("The library takes device blocks from cuMemAlloc. The driver's stream-ordered allocator, told to keep what "
            "it has, took " +
            compared.all.text() + " of the library's time in these rows, and " + compared.varying.text() +
            " where sizes vary, which is where the library has to ask the driver. Only what is below 1 there "
            "throughout would be a reason to make it the source of the library's pool.");
}

}  // namespace

void churn(Bench& bench) {
  if (bench.driver.has_pool()) bench.driver.keep_pool();
  Compared compared;
  ReuseFigures figures;
  bench.plan(2 * sizeof kNets / sizeof kNets[0]);
  for (const bool zeroed : {false, true}) rows(bench, zeroed, compared, figures);
  bench.library.must(bench.library.set_reuse(SYNCEDMEM_REUSE_SYNCHRONISED), "set_reuse");
  decide(bench, compared);
  figures.conclude(bench.driver.simulated, "nets");
}
