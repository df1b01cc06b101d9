#include "nets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

const std::size_t kFloat = 4;

// Follows a blob's shape through the layers, and notes what each of them allocates. Layers that Caffe
// runs in place (ReLU, Dropout) or that share data (Reshape) allocate nothing.
class Layers {
 public:
  Layers(Net& net, std::size_t channels, std::size_t height, std::size_t width)
      : net_(net), channels_(channels), height_(height), width_(width) {
    add("data", 4, values());
  }

  void convolution(const std::string& name, std::size_t outputs, std::size_t kernel, std::size_t stride = 1,
                   std::size_t pad = 0) {
    const std::size_t inputs = channels_;
    height_ = (height_ + 2 * pad - kernel) / stride + 1;
    width_ = (width_ + 2 * pad - kernel) / stride + 1;
    channels_ = outputs;
    // A product with the image as it is needs no columns. With groups Caffe has room for all of them.
    if (kernel > 1) add(name + ".columns", 3, inputs * kernel * kernel * height_ * width_);
    add(name + ".ones", 1, height_ * width_, true);
    add(name, 4, values());
  }

  // Caffe rounds up here where convolution rounds down, and keeps where each maximum came from.
  void max_pooling(const std::string& name, std::size_t kernel, std::size_t stride) {
    height_ = (height_ - kernel + stride - 1) / stride + 1;
    width_ = (width_ - kernel + stride - 1) / stride + 1;
    add(name, 4, values());
    add(name + ".maxima", 4, values());
  }

  void local_response_normalization(const std::string& name) {
    add(name, 4, values());
    add(name + ".scale", 4, values());
  }

  void roi_pooling(const std::string& name, std::size_t rois, std::size_t side) {
    images_ = rois;
    height_ = width_ = side;
    add(name, 4, values());
    add(name + ".maxima", 4, values());
  }

  void inner_product(const std::string& name, std::size_t outputs) {
    channels_ = outputs;
    height_ = width_ = 1;
    add(name, 2, values());
  }

  void softmax(const std::string& name) { add(name, 2, values()); }

  void other(const std::string& name, std::size_t values) { add(name, 2, values); }

 private:
  std::size_t values() const { return images_ * channels_ * height_ * width_; }

  void add(const std::string& name, std::size_t axes, std::size_t values, bool written_at_setup = false) {
    net_.blobs.push_back({name, axes, values * kFloat, written_at_setup});
  }

  Net& net_;
  std::size_t images_ = 1, channels_, height_, width_;
};

// Table 1, column D, up to its last convolution.
void vgg16_trunk(Layers& layers) {
  const struct {
    std::size_t convolutions, outputs;
  } stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  for (std::size_t stage = 0; stage < 5; ++stage) {
    const std::string number = std::to_string(stage + 1);
    for (std::size_t i = 1; i <= stages[stage].convolutions; ++i) {
      layers.convolution("conv" + number + "_" + std::to_string(i), stages[stage].outputs, 3, 1, 1);
    }
    if (stage < 4) layers.max_pooling("pool" + number, 2, 2);
  }
}

}  // namespace

std::size_t Net::bytes() const {
  std::size_t sum = 0;
  for (const NetBlob& blob : blobs) sum += blob.bytes;
  return sum;
}

std::size_t Net::largest() const {
  std::size_t most = 0;
  for (const NetBlob& blob : blobs) most = std::max(most, blob.bytes);
  return most;
}

Net alexnet() {
  Net net{"AlexNet", {}};
  Layers layers(net, 3, 227, 227);
  layers.convolution("conv1", 96, 11, 4);
  layers.local_response_normalization("norm1");
  layers.max_pooling("pool1", 3, 2);
  layers.convolution("conv2", 256, 5, 1, 2);
  layers.local_response_normalization("norm2");
  layers.max_pooling("pool2", 3, 2);
  layers.convolution("conv3", 384, 3, 1, 1);
  layers.convolution("conv4", 384, 3, 1, 1);
  layers.convolution("conv5", 256, 3, 1, 1);
  layers.max_pooling("pool5", 3, 2);
  layers.inner_product("fc6", 4096);
  layers.inner_product("fc7", 4096);
  layers.inner_product("fc8", 1000);
  layers.softmax("prob");
  return net;
}

Net vgg16() {
  Net net{"VGG-16", {}};
  Layers layers(net, 3, 224, 224);
  vgg16_trunk(layers);
  layers.max_pooling("pool5", 2, 2);
  layers.inner_product("fc6", 4096);
  layers.inner_product("fc7", 4096);
  layers.inner_product("fc8", 1000);
  layers.softmax("prob");
  return net;
}

Net faster_rcnn(std::size_t height, std::size_t width) {
  const std::size_t anchors = 9, proposals = 300, classes = 21;
  Net net{"Faster R-CNN", {}};
  Layers trunk(net, 3, height, width);
  trunk.other("image size", 3);
  vgg16_trunk(trunk);
  Layers scores = trunk;
  scores.convolution("rpn", 512, 3, 1, 1);
  Layers boxes = scores;
  scores.convolution("rpn.scores", 2 * anchors, 1);
  boxes.convolution("rpn.boxes", 4 * anchors, 1);
  scores.softmax("rpn.probabilities");
  scores.other("proposals", proposals * 5);
  trunk.roi_pooling("roi_pool5", proposals, 7);
  trunk.inner_product("fc6", 4096);
  trunk.inner_product("fc7", 4096);
  Layers regions = trunk;
  trunk.inner_product("scores", classes);
  regions.inner_product("boxes", 4 * classes);
  trunk.softmax("probabilities");
  return net;
}

Net net_of_image(const std::string& name, unsigned number) {
  if (name == "alexnet") return alexnet();
  if (name == "vgg16") return vgg16();
  // The 64-bit generator of Knuth's MMIX: its high bits, some steps in, are all that is wanted.
  std::uint64_t state = 0;
  for (unsigned i = 0; i <= number; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
  const double between = static_cast<double>(state >> 11) / 9007199254740992.0;  // 2^53
  const double aspect = std::exp2(2 * between - 1);                              // width : height
  const double ratio = std::max(aspect, 1 / aspect);
  const double shorter = std::min(600.0, 1000.0 / ratio);
  const std::size_t one = std::lround(shorter), other = std::lround(shorter * ratio);
  return aspect > 1 ? faster_rcnn(one, other) : faster_rcnn(other, one);
}
