//! Nets of the three generations of `caffe.proto`, and of other Caffes.

mod support;

use caffemodel::{At, Dialect, Element, Kind, Model, Version};
use support::*;

#[test]
fn a_layer_of_v1_has_the_name_of_its_type_number() {
    let model = net([
        layer_v1("ip", 14, &[[legacy(&[1, 1, 2, 3]), bytes(5, f32_bytes(&[1.0; 6]))].concat()]),
        layer_v1("loss", 21, &[]),
        layer_v1("up", 39, &[]),
        layer_v1("none", 0, &[]),
        layer_v1("later", 57, &[]),
        layer_v1("wrong", -1, &[]),
        bytes(2, bytes(4, "bare")),
    ]
    .concat());
    let types: Vec<_> = model.layers().iter().map(|layer| layer.type_name()).collect();
    assert_eq!(types, ["InnerProduct", "SoftmaxWithLoss", "Deconvolution", "", "#57", "#-1", ""]);
    assert!(model.layers().iter().all(|layer| layer.version() == Version::V1));
    assert_eq!(model.layers()[0].blobs()[0].shape(), [1, 1, 2, 3]);
    assert!(model.layers()[0].blobs()[0].is_legacy());
}

#[test]
fn a_layer_of_v0_has_all_in_the_message_inside_and_padding_layers_are_gone() {
    let weights = [legacy(&[1, 1, 1, 2]), bytes(5, f32_bytes(&[3.0, 4.0]))].concat();
    let outside = bytes(2, [bytes(1, [bytes(1, "in"), bytes(2, "innerproduct")].concat()), bytes(4, "out")].concat());
    let model = net([
        layer_v0("pad1", "padding", &[]),
        layer_v0("conv1", "conv", &[weights]),
        layer_v0("loss", "softmax_loss", &[]),
        layer_v0("own", "mine", &[]),
        outside,
    ]
    .concat());
    let layers: Vec<_> = model.layers().iter().map(|layer| (layer.name(), layer.type_name())).collect();
    assert_eq!(
        layers,
        [("conv1", "Convolution"), ("loss", "SoftmaxWithLoss"), ("own", "mine"), ("in", "InnerProduct")]
    );
    assert!(model.layers().iter().all(|layer| layer.version() == Version::V0));
    assert_eq!(floats(&model), [3.0, 4.0]);
}

#[test]
fn a_v0_layer_in_two_pieces_is_merged_as_protobuf_merges_messages() {
    let piece = |name: &str, values: &[f32]| {
        bytes(1, [bytes(1, name), bytes(2, "conv"), bytes(50, blob(&[1], values))].concat())
    };
    let model = net(bytes(2, [piece("first", &[1.0]), piece("second", &[2.0])].concat()));
    assert_eq!((model.layers().len(), model.layers()[0].name()), (1, "second"));
    assert_eq!(floats_at(&model, At::data(0, 1)), [2.0]);
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
fn nvidias_bytes_are_read_by_their_type() {
    let raw = |kind: i64, bytes_: &[u8]| [number(10, kind), bytes(12, bytes_), shape(&[2])].concat();
    let half = net_of(raw(2, &[0x00, 0x3c, 0x01, 0x00]));
    assert_eq!(half.layers()[0].blobs()[0].dialect(), Dialect::Nvidia);
    assert_eq!(floats(&half), [1.0, 2f32.powi(-24)]);
    assert_eq!(stored(&half, At::data(0, 0)), (Element::F16, vec![0x00, 0x3c, 0x01, 0x00]));
    assert_eq!(floats(&net_of(raw(1, &f32_bytes(&[0.1, -7.0])))), [0.1, -7.0]);
    let double = net_of(raw(0, &f64_bytes(&[0.1, -7.0])));
    let mut values = [0.0; 2];
    double.read_f64(At::data(0, 0), 0, &mut values).unwrap();
    assert_eq!(values, [0.1, -7.0]);
    let diff = [number(10, 1), number(11, 2), bytes(12, f32_bytes(&[1.0])), bytes(13, [0x00, 0xc0]), shape(&[1])];
    assert_eq!(floats_at(&net_of(diff.concat()), At::diff(0, 0)), [-2.0]);
}

#[test]
fn nvidias_bytes_of_other_types_or_without_one_are_refused_with_their_reason() {
    let says = |blob: Vec<u8>| unreadable([blob, bytes(12, [0; 4]), shape(&[1])].concat());
    assert!(says(number(10, 3)).contains("type 3 (INT), which is not read"), "{}", says(number(10, 3)));
    assert!(says(Vec::new()).contains("bytes without their type"), "{}", says(Vec::new()));
    assert!(says(number(10, 0)).contains("its data has 4 bytes, and a value has 8"), "{}", says(number(10, 0)));
}

#[test]
fn doubles_win_over_floats_and_floats_over_nvidias_bytes() {
    let both = [bytes(5, f32_bytes(&[1.0])), bytes(8, f64_bytes(&[2.0])), shape(&[1])].concat();
    assert_eq!(stored(&net_of(both), At::data(0, 0)), (Element::F64, f64_bytes(&[2.0])));
    let raw = [bytes(5, f32_bytes(&[1.0])), number(10, 1), bytes(12, f32_bytes(&[3.0])), shape(&[1])].concat();
    assert_eq!(floats(&net_of(raw)), [1.0]);
    let empty = [bytes(5, f32_bytes(&[1.0])), bytes(8, []), shape(&[1])].concat();
    assert_eq!(floats(&net_of(empty)), [1.0], "an empty list is none");
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
