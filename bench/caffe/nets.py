"""The networks of the benchmark as prototxt: LeNet, AlexNet, VGG-16, GoogLeNet and ResNet-50 as published, and three others."""

from typing import Iterator, List

# `caffe time` takes no seed, so its nets start from constants, and their loss is the same in every run.
CONSTANT = 'weight_filler { type: "constant" value: 0.001 }'
# `caffe train` has a seed.
RANDOM = 'weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.1 }'
# The weights are read from a model.
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
        """Images and labels from the DummyData layer. With random weights, the images are new in every iteration."""
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

    def pool_all(self) -> "Net":
        return self.layer("Pooling", "pooling_param { pool: AVE global_pooling: true }")

    def join(self, kind: str, tops: List[str]) -> "Net":
        """One layer that takes several tops."""
        self.top = '" bottom: "'.join(tops)
        return self.layer(kind)

    def normalize(self) -> "Net":
        return self.layer("LRN", "lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }")

    def full(self, outputs: int) -> "Net":
        return self.layer("InnerProduct", f"inner_product_param {{ num_output: {outputs} {self.filler} }}")

    def dropout(self) -> "Net":
        return self.layer("Dropout", "dropout_param { dropout_ratio: 0.5 }", in_place=True)

    def loss(self, name: str = "loss", weight: float = 1) -> "Net":
        scores = self.top
        ends = f'bottom: "{scores}" bottom: "label" top: "{name}" loss_weight: {weight}'
        self.layers.append(f'name: "{name}" type: "SoftmaxWithLoss" {ends}')
        if self.filler == CONSTANT:
            # The softmax of equal scores is the same whatever the scores are. Their mean shows them in the loss.
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


def inception(net: Net, outputs: str) -> Net:
    """The numbers of outputs: 1x1, 3x3 reduced, 3x3, 5x5 reduced, 5x5, pooled."""
    one, three_reduced, three, five_reduced, five, pooled = map(int, outputs.split())
    start, tops = net.top, []
    for kernels in (((one, 1),), ((three_reduced, 1), (three, 3)), ((five_reduced, 1), (five, 5)), ((pooled, 1),)):
        net.top = start
        if len(tops) == 3:
            net.layer("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 1 pad: 1 }")
        for count, kernel in kernels:
            net.convolution(count, kernel, pad=kernel // 2).relu()
        tops.append(net.top)
    return net.join("Concat", tops)


def googlenet(net: Net, image: int, has_losses: bool = False) -> Net:
    net.convolution(64, 7, stride=2, pad=3).relu().pool(3, 2).normalize()
    net.convolution(64, 1).relu().convolution(192, 3, pad=1).relu().normalize().pool(3, 2)
    inception(net, "64 96 128 16 32 32")
    inception(net, "128 128 192 32 96 64").pool(3, 2)
    for number, outputs in enumerate(
        ("192 96 208 16 48 64", "160 112 224 24 64 64", "128 128 256 24 64 64", "112 144 288 32 64 64", "256 160 320 32 128 128")
    ):
        inception(net, outputs)
        if has_losses and number in (0, 3):
            top = net.top
            net.layer("Pooling", f"pooling_param {{ pool: AVE kernel_size: {image // 48 + 1} stride: 3 }}")
            net.convolution(128, 1).relu().full(1024).relu().dropout().full(1000).loss(f"loss{number}", 0.3).top = top
    net.pool(3, 2)
    inception(net, "256 160 320 32 128 128")
    return inception(net, "384 192 384 48 128 128").pool_all().dropout().full(1000)


def resnet50(net: Net) -> Net:
    def normalized(outputs: int, kernel: int, stride: int = 1) -> Net:
        net.convolution(outputs, kernel, stride, kernel // 2).layer("BatchNorm", in_place=True)
        return net.layer("Scale", "scale_param { bias_term: true }", in_place=True)

    normalized(64, 7, 2).relu().pool(3, 2)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            start, stride = net.top, 2 if stage and not block else 1
            shortcut = start if block else normalized(4 * width, 1, stride).top
            net.top = start
            normalized(width, 1, stride).relu()
            normalized(width, 3).relu()
            net.join("Eltwise", [shortcut, normalized(4 * width, 1).top]).relu()
    return net.pool_all().full(1000)


def features(net: Net) -> Net:
    """The convolutions that the fully convolutional net and the detector share: an eighth of the image's size, 256 channels."""
    for outputs in (32, 64, 128):
        net.convolution(outputs, 3, pad=1).relu().pool(2, 2)
    return net.convolution(256, 3, pad=1).relu()


def fully_convolutional() -> Net:
    """A class for each pixel: scores at an eighth of the size, then enlarged."""
    net = features(Net(CONSTANT).input(1, 3, 64, 64)).convolution(21, 1)
    enlarge = 'num_output: 21 group: 21 kernel_size: 16 stride: 8 pad: 4 bias_term: false weight_filler { type: "bilinear" }'
    return net.layer("Deconvolution", f"convolution_param {{ {enlarge} }}")


def large(inputs: int, filler: str) -> Net:
    """The fully connected layers of VGG-16: with 25088 inputs their model is a file of 494 MB."""
    return Net(filler).input(1, inputs).full(4096).relu().full(4096).relu().full(1000)


def write_all(folder: str, image: int, inputs: int) -> None:
    """Writes every file: AlexNet and VGG-16 for images of about `image` pixels a side, the large model with `inputs` inputs."""
    for name, text in all_files(image, inputs):
        with open(f"{folder}/{name}.prototxt", "w", encoding="ascii") as out:
            out.write(text)


def all_files(image: int, inputs: int) -> Iterator[tuple]:
    trained = (("lenet", lenet, (64, 1, 28, 28)), ("alexnet", alexnet, (4, 3, image + 3, image + 3)), ("vgg16", vgg16, (1, 3, image, image)))
    for name, build, shape in trained:
        yield f"{name}-time", build(Net(CONSTANT).labelled(*shape)).loss().text()
        yield f"{name}-train", build(Net(RANDOM).labelled(*shape)).loss().text()
    yield "alexnet", alexnet(Net(CONSTANT).input(1, 3, image + 3, image + 3)).text()
    data = (3, image, image)
    for batch in (1, 4, 16):
        yield f"resnet50-{batch}", resnet50(Net(RANDOM).input(batch, *data)).text()
    yield "googlenet-10", googlenet(Net(RANDOM).input(10, *data), image).text()
    yield "vgg16-4", vgg16(Net(RANDOM).input(4, *data)).text()
    # `caffe test` cannot seed random images, so its net takes constant ones, and the model of a net with random weights.
    for kind, filler in (("random", RANDOM), ("test", NONE)):
        yield f"googlenet-{kind}", googlenet(Net(filler).labelled(16, *data), image).loss().text()
        yield f"resnet50-{kind}", resnet50(Net(filler).labelled(16, *data)).loss().text()
    yield "googlenet-train", googlenet(Net(RANDOM).labelled(4, *data), image, has_losses=True).loss().text()
    yield "googlenet-8-train", googlenet(Net(RANDOM).labelled(8, *data), image, has_losses=True).loss().text()
    for name, batch in (("resnet50", 4), ("resnet50-16", 16)):
        yield f"{name}-train", resnet50(Net(RANDOM).labelled(batch, *data)).loss().text()
    yield "fully_convolutional", fully_convolutional().text()
    # The detector: a score and a box for each place, then the classes of the places that it proposes.
    yield "detector", features(Net(CONSTANT).input(1, 3, 64, 64)).convolution(5, 1).text()
    yield "detector-head", Net(CONSTANT).input(1, 256, 7, 7).full(1024).relu().full(21).text()
    yield "large-random", large(inputs, RANDOM).text()
    yield "large", large(inputs, NONE).text()
