"""The networks of the benchmark, written as prototxt: LeNet, AlexNet and VGG-16 as published, and three of our own."""

from typing import Iterator, List

# `caffe time` takes no seed, so its nets start from constants, and their loss is the same in every run.
CONSTANT = 'weight_filler { type: "constant" value: 0.001 }'
# `caffe train` has a seed.
RANDOM = 'weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.1 }'
# Weights that are read from a model.
NONE = ""


class Net:
    """A chain of layers: each takes the top of the one before it."""

    def __init__(self, filler: str) -> None:
        self.filler = filler
        self.top = ""
        self.layers: List[str] = []

    def text(self) -> str:
        return "".join(f"layer {{ {layer} }}\n" for layer in self.layers)

    def layer(self, kind: str, parameters: str = "", in_place: bool = False) -> "Net":
        name = f"{kind.lower()}{len(self.layers)}"
        top = self.top if in_place else name
        self.layers.append(f'name: "{name}" type: "{kind}" bottom: "{self.top}" top: "{top}" {parameters}')
        self.top = top
        return self

    def input(self, *shape: int) -> "Net":
        return self.source("Input", f"input_param {{ {dimensions(shape)} }}", "data")

    def labelled(self, *shape: int) -> "Net":
        """Images and labels from the DummyData layer; the images are new in every iteration if the weights are random."""
        filler = 'type: "uniform" min: -1 max: 1' if self.filler == RANDOM else 'type: "constant" value: 1'
        label = 'data_filler { type: "constant" value: 1 }'
        self.source("DummyData", f"dummy_data_param {{ {dimensions(shape[:1])} {label} }}", "label")
        return self.source("DummyData", f"dummy_data_param {{ {dimensions(shape)} data_filler {{ {filler} }} }}", "data")

    def source(self, kind: str, parameters: str, top: str) -> "Net":
        self.layers.append(f'name: "{top}" type: "{kind}" top: "{top}" {parameters}')
        self.top = top
        return self

    def convolution(self, outputs: int, kernel: int, stride: int = 1, pad: int = 0, group: int = 1) -> "Net":
        geometry = f"kernel_size: {kernel} stride: {stride} pad: {pad} group: {group}"
        return self.layer("Convolution", f"convolution_param {{ num_output: {outputs} {geometry} {self.filler} }}")

    def relu(self) -> "Net":
        return self.layer("ReLU", in_place=True)

    def pool(self, kernel: int, stride: int) -> "Net":
        return self.layer("Pooling", f"pooling_param {{ pool: MAX kernel_size: {kernel} stride: {stride} }}")

    def normalize(self) -> "Net":
        return self.layer("LRN", "lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }")

    def full(self, outputs: int) -> "Net":
        return self.layer("InnerProduct", f"inner_product_param {{ num_output: {outputs} {self.filler} }}")

    def dropout(self) -> "Net":
        return self.layer("Dropout", "dropout_param { dropout_ratio: 0.5 }", in_place=True)

    def loss(self) -> "Net":
        scores = self.top
        self.layers.append(f'name: "loss" type: "SoftmaxWithLoss" bottom: "{scores}" bottom: "label" top: "loss"')
        if self.filler == CONSTANT:
            # Scores that are all equal have the same softmax whatever they are. Their mean shows them in the loss.
            mean = "reduction_param { operation: MEAN } loss_weight: 1"
            self.layers.append(f'name: "mean" type: "Reduction" bottom: "{scores}" top: "mean" {mean}')
        return self


def dimensions(shape: tuple) -> str:
    return "shape { " + " ".join(f"dim: {size}" for size in shape) + " }"


def lenet(net: Net) -> Net:
    net.convolution(20, 5).pool(2, 2).convolution(50, 5).pool(2, 2)
    return net.full(500).relu().full(10)


def alexnet(net: Net) -> Net:
    net.convolution(96, 11, stride=4).relu().normalize().pool(3, 2)
    net.convolution(256, 5, pad=2, group=2).relu().normalize().pool(3, 2)
    net.convolution(384, 3, pad=1).relu().convolution(384, 3, pad=1, group=2).relu()
    net.convolution(256, 3, pad=1, group=2).relu().pool(3, 2)
    return net.full(4096).relu().dropout().full(4096).relu().dropout().full(1000)


def vgg16(net: Net) -> Net:
    for outputs, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            net.convolution(outputs, 3, pad=1).relu()
        net.pool(2, 2)
    return net.full(4096).relu().dropout().full(4096).relu().dropout().full(1000)


def features(net: Net) -> Net:
    """The convolutions that the fully convolutional net and the detector share: an eighth of the image's size, 256 channels."""
    for outputs in (32, 64, 128):
        net.convolution(outputs, 3, pad=1).relu().pool(2, 2)
    return net.convolution(256, 3, pad=1).relu()


def fully_convolutional() -> Net:
    """A class for each pixel: scores at an eighth of the size, and enlarged."""
    net = features(Net(CONSTANT).input(1, 3, 64, 64)).convolution(21, 1)
    enlarge = 'num_output: 21 group: 21 kernel_size: 16 stride: 8 pad: 4 bias_term: false weight_filler { type: "bilinear" }'
    return net.layer("Deconvolution", f"convolution_param {{ {enlarge} }}")


def large(inputs: int, filler: str) -> Net:
    """The fully connected layers of VGG-16: with 25088 inputs their model is a file of 494 MB."""
    return Net(filler).input(1, inputs).full(4096).relu().full(4096).relu().full(1000)


def write_all(folder: str, image: int, inputs: int) -> None:
    """Writes every file: AlexNet and VGG-16 for images of about `image` pixels a side, the large model with so many inputs."""
    for name, text in all_files(image, inputs):
        with open(f"{folder}/{name}.prototxt", "w", encoding="ascii") as out:
            out.write(text)


def all_files(image: int, inputs: int) -> Iterator[tuple]:
    trained = (("lenet", lenet, (64, 1, 28, 28)), ("alexnet", alexnet, (4, 3, image + 3, image + 3)), ("vgg16", vgg16, (1, 3, image, image)))
    for name, build, shape in trained:
        yield f"{name}-time", build(Net(CONSTANT).labelled(*shape)).loss().text()
        yield f"{name}-train", build(Net(RANDOM).labelled(*shape)).loss().text()
    yield "alexnet", alexnet(Net(CONSTANT).input(1, 3, image + 3, image + 3)).text()
    yield "fully_convolutional", fully_convolutional().text()
    # The detector: a score and a box for each place, then the classes of the places that it proposes.
    yield "detector", features(Net(CONSTANT).input(1, 3, 64, 64)).convolution(5, 1).text()
    yield "detector-head", Net(CONSTANT).input(1, 256, 7, 7).full(1024).relu().full(21).text()
    yield "large-random", large(inputs, RANDOM).text()
    yield "large", large(inputs, NONE).text()
