"""A small net of many kinds of layers, trained by Caffe itself."""

import os
from pathlib import Path

import caffe


def trained(folder: Path) -> Path:
    """The folder, in which Caffe has trained the net and saved it with its solver's state."""
    if not folder.exists():
        folder.mkdir()
        net = """
            name: "small"
            layer { name: "in" type: "DummyData" top: "x" top: "y" dummy_data_param {
              shape { dim: 8 dim: 3 dim: 12 dim: 12 } shape { dim: 8 }
              data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 } } }
            layer { name: "conv/1" type: "Convolution" bottom: "x" top: "c" convolution_param {
              num_output: 6 kernel_size: 3 group: 3 weight_filler { type: "xavier" } } }
            layer { name: "norm" type: "BatchNorm" bottom: "c" top: "c" }
            layer { name: "scale" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
            layer { name: "prelu" type: "PReLU" bottom: "c" top: "c" }
            layer { name: "up" type: "Deconvolution" bottom: "c" top: "d" convolution_param {
              num_output: 2 kernel_size: 2 weight_filler { type: "xavier" } } }
            layer { name: "ip" type: "InnerProduct" bottom: "d" top: "p" inner_product_param {
              num_output: 4 weight_filler { type: "xavier" } } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "p" bottom: "y" top: "loss" }"""
        (folder / "net.prototxt").write_text(net)
        (folder / "solver.prototxt").write_text(
            'net: "net.prototxt"\nbase_lr: 0.01\nlr_policy: "step"\nstepsize: 2\ngamma: 0.5\nmomentum: 0.9\ntype: "Adam"\n'
            'max_iter: 5\nsnapshot: 5\nsnapshot_prefix: "small"\nsnapshot_diff: true\nsolver_mode: CPU\nrandom_seed: 7\n'
        )
        before = os.getcwd()
        os.chdir(folder)
        try:
            caffe.get_solver("solver.prototxt").solve()
        finally:
            os.chdir(before)
    return folder
