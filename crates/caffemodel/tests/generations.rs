//! Nets of the three generations of `caffe.proto`, and of other Caffes.

mod support;

use caffemodel::{At, Element, Kind, Model, Version};
use support::*;

/// `oracle/checks.py` compares the types that Caffe's own tool knows with that tool's output.
#[test]
fn types_that_caffe_does_not_know_stay_and_a_v0_layer_has_all_in_the_message_inside() {
    let outside = bytes(2, [bytes(1, [bytes(1, "in"), bytes(2, "innerproduct")].concat()), bytes(4, "out")].concat());
    let model = net([
        layer_v1("ip", 14, &[]),
        layer_v1("later", 57, &[]),
        layer_v1("wrong", -1, &[]),
        bytes(2, bytes(4, "bare")),
        layer_v0("pad1", "padding", &[]),
        layer_v0("loss", "softmax_loss", &[]),
        layer_v0("own", "mine", &[]),
        outside,
    ]
    .concat());
    let layers: Vec<_> =
        model.layers().iter().map(|layer| (layer.name(), layer.type_name(), layer.version())).collect();
    let of = |version| move |(name, kind)| (name, kind, version);
    let v1 = [("ip", "InnerProduct"), ("later", "#57"), ("wrong", "#-1"), ("bare", "")].map(of(Version::V1));
    let v0 = [("loss", "SoftmaxWithLoss"), ("own", "mine"), ("in", "InnerProduct")].map(of(Version::V0));
    assert_eq!(layers, [&v1[..], &v0].concat());
}

#[test]
fn the_net_drops_the_leading_ones_of_legacy_shapes() {
    let of =
        |dims: &[i64]| [legacy(dims), bytes(5, f32_bytes(&vec![0.0; dims.iter().product::<i64>() as usize]))].concat();
    let model = net([
        layer_v1("ip", 14, &[of(&[1, 1, 4, 3]), of(&[1, 1, 1, 4])]),
        layer_v1("conv", 4, &[of(&[4, 1, 1, 3]), of(&[1, 1, 1, 4])]),
        layer("new", "InnerProduct", &[blob(&[1, 1, 2, 1], &[0.0; 2])]),
        layer_v1("odd", 14, &[of(&[2, 1, 1, 3])]),
    ]
    .concat());
    let shape = |layer: usize, blob| model.layers()[layer].shape_in_net(blob).unwrap();
    assert_eq!((shape(0, 0), shape(0, 1)), (&[4, 3][..], &[4][..]));
    assert_eq!((shape(1, 0), shape(1, 1)), (&[4, 1, 1, 3][..], &[4][..]));
    assert_eq!(shape(2, 0), [1, 1, 2, 1], "a shape that is no legacy one is the net's own");
    assert_eq!(shape(3, 0), [2, 1, 1, 3], "only ones are dropped");
    assert!(model.layers()[0].shape_in_net(2).is_none());
}

#[test]
fn c3ds_blobs_have_five_dimensions_and_its_layers_its_own_types() {
    let values = [1.0, 2.0, 3.0];
    let blob =
        [legacy(&[1, 1, 3, 1, 1]), bytes(6, f32_bytes(&values)), bytes(7, f32_bytes(&values.map(|value| -value)))];
    let blob = blob.concat();
    let nets = [layer_v1("conv", 30, std::slice::from_ref(&blob)), layer_v1("ip", 14, std::slice::from_ref(&blob))];
    for (kind, file) in [(Kind::Net, nets.concat()), (Kind::Blobs, bytes(1, &blob)), (Kind::Blob, blob)] {
        let model = Model::from_bytes(file, "file", None).unwrap();
        let types: Vec<_> = model.layers().iter().map(caffemodel::Layer::type_name).collect();
        assert!(kind != Kind::Net || types == ["Convolution3D", "InnerProduct"], "{types:?}");
        assert_eq!((model.kind(), model.layers()[0].blobs()[0].shape()), (kind, &[1, 1, 3, 1, 1][..]));
        assert_eq!((floats(&model), floats_at(&model, At::diff(0, 0))), (values.to_vec(), vec![-1.0, -2.0, -3.0]));
    }
}

#[test]
fn nvidias_bytes_are_doubles_floats_or_halves() {
    let doubles = f64_bytes(&[1.5, -0.1]);
    let of = |kinds: [i64; 2], data: &[u8], diff: &[u8]| {
        let types = [number(10, kinds[0]), number(11, kinds[1])].concat();
        net_of([types, bytes(12, data), bytes(13, diff), shape(&[2])].concat())
    };
    let (floats, halves) = (f32_bytes(&[1.5, -0.1]), [0x00, 0x3e, 0xff, 0x7b]);
    let model = of([0, 1], &doubles, &floats);
    assert_eq!(stored(&model, At::data(0, 0)), (Element::F64, doubles));
    assert_eq!(stored(&model, At::diff(0, 0)), (Element::F32, floats));
    let model = of([2, 2], &halves, &halves);
    assert_eq!(stored(&model, At::diff(0, 0)), (Element::F16, halves.to_vec()));
    assert_eq!(floats_at(&model, At::data(0, 0)), [1.5, 65504.0]);
}

#[test]
fn nvidias_bytes_of_other_types_or_without_one_are_refused_with_their_reason() {
    let says = |blob: Vec<u8>| unreadable([blob, bytes(12, [0; 4]), shape(&[1])].concat());
    assert!(says(number(10, 3)).contains("type 3 (INT), which is not read"), "{}", says(number(10, 3)));
    let fork = says(Vec::new());
    assert!(fork.contains("bytes without their type") && fork.ends_with("with the Caffe that wrote it"), "{fork}");
    assert!(says(number(10, 0)).contains("its data has 4 bytes, and a value has 8"), "{}", says(number(10, 0)));
}

#[test]
fn values_in_fields_of_a_fork_are_refused_with_the_numbers_of_the_fields() {
    let int8 = [shape(&[2, 3]), fixed32(13, 0.5), bytes(10, [1, 2, 3, 255, 254, 253])].concat();
    assert_eq!(net_of(int8.clone()).array(At::data(0, 0)).unwrap_err().kind(), caffemodel::ErrorKind::Unsupported);
    assert!(unreadable(int8).contains(
        "blob 0: its data has 0 of the 6 values of its shape 2x3: the others are in unknown fields 10, 13 of a fork"
    ));
    let floats = |number| bytes(number, f32_bytes(&[1.0, 2.0]));
    let csr = [shape(&[2, 3]), floats(5), number(10, 1), floats(14), bytes(200, [0]), floats(14)].concat();
    let said = unreadable(csr.clone());
    assert!(said.contains("its data has 2 of the 6 values"), "{said}");
    assert!(
        said.contains("unknown fields 10, 14, 200 of a fork") && said.ends_with("with the Caffe that wrote it"),
        "{said}"
    );
    let many = unreadable([shape(&[2]), (20..40).rev().flat_map(|field| number(field, 1)).collect()].concat());
    assert!(many.contains("unknown fields 32, 33, 34, 35, 36, 37, 38, 39 and others of a fork"), "{many}");
    let whole = [blob(&[2], &[1.0, 2.0]), number(10, 1), floats(14)].concat();
    assert_eq!(floats_at(&net_of(whole), At::data(0, 0)), [1.0, 2.0], "whole values are read without them");
    let long = unreadable([blob(&[1], &[1.0, 2.0]), number(20, 1)].concat());
    assert!(long.contains("its data has 2 values, and its shape 1 needs 1"), "{long}");
    // A type field of NVIDIA's without the bytes does not hide that values are missing.
    assert!(
        unreadable([shape(&[2]), number(10, 1)].concat()).contains("its data has 0 values, and its shape 2 needs 2")
    );
}

#[test]
fn floats_win_over_nvidias_bytes_and_an_empty_list_is_none() {
    let raw = [bytes(5, f32_bytes(&[1.0])), number(10, 1), bytes(12, f32_bytes(&[3.0])), shape(&[1])].concat();
    assert_eq!(floats(&net_of(raw)), [1.0]);
    let empty = [bytes(5, f32_bytes(&[1.0])), bytes(8, []), shape(&[1])].concat();
    assert_eq!(floats(&net_of(empty)), [1.0]);
}

#[test]
fn files_of_one_blob_and_of_several_are_told_from_nets_by_their_fields() {
    let kind = |file: Vec<u8>| Model::from_bytes(file, "file", None).unwrap().kind();
    assert_eq!(kind(blob(&[1], &[1.0])), Kind::Blob);
    assert_eq!(kind([legacy(&[1, 3, 1, 1]), bytes(5, f32_bytes(&[1.0; 3]))].concat()), Kind::Blob);
    assert_eq!(kind([shape(&[1]), bytes(8, f64_bytes(&[1.0]))].concat()), Kind::Blob);
    assert_eq!(kind([number(10, 2), bytes(12, [0, 0]), shape(&[1])].concat()), Kind::Blob);
    let listed = bytes(1, blob(&[1], &[1.0]));
    assert_eq!(kind(listed.clone()), Kind::Blobs);
    assert_eq!(kind([listed.clone(), listed].concat()), Kind::Blobs);
    assert_eq!(kind([bytes(1, "net"), layer("a", "ReLU", &[])].concat()), Kind::Net);
    assert_eq!(kind([bytes(1, "net"), layer_v1("a", 18, &[])].concat()), Kind::Net);
    assert_eq!(kind(bytes(1, "only a name")), Kind::Net);
    assert_eq!(kind(number(1, 5)), Kind::SolverState);
    let list = Model::from_bytes(bytes(1, blob(&[2], &[1.0, 5.0])), "file", None).unwrap();
    assert_eq!((list.layers()[0].name(), floats(&list)), ("blobs", vec![1.0, 5.0]));
}
