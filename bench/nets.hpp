// The memory that one forward pass of a published network takes in Caffe, on the CPU, batch 1.
#ifndef BENCH_NETS_HPP_
#define BENCH_NETS_HPP_

#include <cstddef>
#include <string>
#include <vector>

// What Caffe keeps as a Blob. Each holds three SyncedMemory objects: the shape, written as the blob
// gets it; the data; and the gradient, which a forward pass constructs and never touches.
struct NetBlob {
  std::string name;
  std::size_t axes, bytes;
  bool written_at_setup;  // by the layer's Reshape(); the others by its Forward()
};

struct Net {
  std::string name;
  std::vector<NetBlob> blobs;  // in the order in which Caffe makes them

  std::size_t bytes() const;
  std::size_t largest() const;
};

// Krizhevsky, Sutskever, Hinton 2012, section 3.5 and figure 2, at the 227 x 227 that its figures need.
Net alexnet();

// Simonyan, Zisserman 2014, table 1, column D, at 224 x 224.
Net vgg16();

// Ren, He, Girshick, Sun 2015, section 3, on VGG-16, with 300 proposals of 21 classes; RoI pooling
// from Girshick 2015. The image is scaled as there: its shorter side to 600, its longer to 1000 at most.
Net faster_rcnn(std::size_t height, std::size_t width);

// By short name: alexnet, vgg16, faster_rcnn. The last one's images are a fixed pseudo-random sequence, with
// sides between 1:2 and 2:1; for the others every image is of the same size.
Net net_of_image(const std::string& name, unsigned number);

#endif  // BENCH_NETS_HPP_
