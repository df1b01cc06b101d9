#include "rows.hpp"

namespace {

struct Case {
  std::string net, title;
  int rounds, quick_rounds;
};

void row(Bench& bench, const Case& what, const std::string& history, const std::string& touch, int rounds) {
  const bool settled = history == "settled", full = touch == "full";
  const std::string id = "churn." + what.net + (settled ? ".settled" : "");
  const std::string when = settled ? ", settled" : "";
  const std::string about = what.title + ", memory of an image" + (full ? ", written in full" : "") + when;
  bench.run({rounds, what.quick_rounds, false}, {id + "." + touch, "ns", about},
            {history,
             {"churn", what.net, touch},
             full ? "" : id + ".peak",
             what.title + ", most resident at once" + when, "", ""});
}

}  // namespace

void net_rows(Bench& bench, bool faster_rcnn) {
  const Case cases[] = {
      {"alexnet", "AlexNet", 15, 3}, {"vgg16", "VGG-16", 3, 1}, {"faster_rcnn", "Faster R-CNN", 2, 1}};
  for (const Case& what : cases) {
    const bool large = what.net == "faster_rcnn";
    if (large && !faster_rcnn) continue;
    if (!bench.against_original()) {
      // The original says enough about the rest.
      row(bench, what, "fresh", "pages", (what.rounds + 2) / 3);
      continue;
    }
    row(bench, what, "fresh", "pages", what.rounds);
    row(bench, what, "fresh", "full", (what.rounds + 1) / 2);
    if (large) continue;  // too large to be kept, whatever came before
    row(bench, what, "settled", "pages", what.rounds);
    row(bench, what, "settled", "full", (what.rounds + 1) / 2);
  }
}
