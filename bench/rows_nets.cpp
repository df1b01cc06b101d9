#include "rows.hpp"

namespace {

struct Case {
  std::string net, title;
  int rounds, quick_rounds;
};

void row(Bench& bench, const Case& what, const std::string& history, const std::string& touch, int rounds) {
  const std::string settled = history == "settled" ? ".settled" : "";
  const std::string id = "churn." + what.net;
  const std::string about = (touch == "full" ? ", written in full" : "") + std::string(settled.empty() ? "" : ", settled");
  bench.run({rounds, what.quick_rounds, false}, {id + settled + "." + touch, "ns", what.title + ", memory of an image" + about},
            {history, {"churn", what.net, touch}, touch == "pages" ? id + settled + ".peak" : "",
             what.title + ", most resident at once" + (settled.empty() ? "" : ", settled")});
}

}  // namespace

void net_rows(Bench& bench, bool faster_rcnn) {
  const Case cases[] = {{"alexnet", "AlexNet", 15, 3}, {"vgg16", "VGG-16", 3, 1}, {"faster_rcnn", "Faster R-CNN", 2, 1}};
  for (const Case& what : cases) {
    const bool large = what.net == "faster_rcnn";
    if (large && !faster_rcnn) continue;
    row(bench, what, "fresh", "pages", bench.against_original() ? what.rounds : (what.rounds + 2) / 3);
    // The original says enough about the rest.
    if (!bench.against_original()) continue;
    row(bench, what, "fresh", "full", (what.rounds + 1) / 2);
    if (large) continue;  // too large to be kept, whatever came before
    row(bench, what, "settled", "pages", what.rounds);
    row(bench, what, "settled", "full", (what.rounds + 1) / 2);
  }
}
