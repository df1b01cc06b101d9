//! Caffe2's saved weights.
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use caffemodel::{At, Dialect, Edit, Element, ErrorKind, Kind, Model, Values};
use support::*;

fn init_net(operators: &[Vec<u8>]) -> Model {
    Model::from_bytes([bytes(1, "init"), operators.concat()].concat(), "init_net.pb", None).unwrap()
}

fn only(output: &str, kind: &str, arguments: &[Vec<u8>]) -> Model {
    init_net(&[operator(output, kind, arguments)])
}

fn data(layer: usize) -> At {
    At::data(layer, 0)
}

fn refusal(kind: &str, arguments: &[Vec<u8>]) -> String {
    only("x", kind, arguments).array(data(0)).unwrap_err().to_string()
}

#[test]
fn each_given_tensor_has_its_name_its_shape_its_type_and_its_values() {
    let dtype = |number_| argument("dtype", &[number(3, number_)]);
    let model = init_net(&[
        operator("flags", "GivenTensorBoolFill", &[dims(&[3]), int_values(&[0, 1, 7])]),
        operator("i16", "GivenTensorInt16Fill", &[dims(&[1]), int_values(&[-300])]),
        operator("i64", "GivenTensorInt64Fill", &[dims(&[2]), int_values(&[i64::MIN, i64::MAX])]),
        operator(
            "u8",
            "GivenTensorByteStringToUInt8Fill",
            &[dims(&[2, 2]), argument("values", &[bytes(7, [0, 1, 254, 255])])],
        ),
        operator("as_int", "GivenTensorFill", &[dims(&[1]), dtype(2), int_values(&[5])]),
        operator(
            "as_double",
            "GivenTensorFill",
            &[dims(&[1]), argument("dtype", &[bytes(4, "double")]), float_values(&[0.1])],
        ),
        operator(
            "packed",
            "GivenTensorFill",
            &[dims(&[2, 1]), argument("values", &[bytes(5, f32_bytes(&[0.5, 8.0]))])],
        ),
        operator("double", "GivenTensorDoubleFill", &[dims(&[1]), float_values(&[0.1])]),
        operator("int", "GivenTensorIntFill", &[int_values(&[-7])]),
        operator("none", "GivenTensorIntFill", &[dims(&[3, 0]), int_values(&[])]),
    ]);
    assert_eq!((model.kind(), model.name()), (Kind::InitNet, "init"));
    let expected: [(&str, &[i64], Element, Vec<u8>); 10] = [
        ("flags", &[3], Element::Bool, vec![0, 1, 1]),
        ("i16", &[1], Element::I16, (-300i16).to_le_bytes().to_vec()),
        ("i64", &[2], Element::I64, [i64::MIN.to_le_bytes(), i64::MAX.to_le_bytes()].concat()),
        ("u8", &[2, 2], Element::U8, vec![0, 1, 254, 255]),
        ("as_int", &[1], Element::I32, 5i32.to_le_bytes().to_vec()),
        ("as_double", &[1], Element::F64, f64_bytes(&[f64::from(0.1f32)])),
        ("packed", &[2, 1], Element::F32, f32_bytes(&[0.5, 8.0])),
        ("double", &[1], Element::F64, f64_bytes(&[f64::from(0.1f32)])),
        ("int", &[], Element::I32, (-7i32).to_le_bytes().to_vec()),
        ("none", &[3, 0], Element::I32, vec![]),
    ];
    assert_eq!(model.layers().len(), expected.len());
    for (index, (name, shape, element, values)) in expected.into_iter().enumerate() {
        let layer = &model.layers()[index];
        assert_eq!((layer.name(), layer.blobs()[0].shape()), (name, shape));
        assert_eq!(stored(&model, data(index)), (element, values), "{name}");
        assert_eq!((layer.blobs()[0].dialect(), layer.shape_in_net(0)), (Dialect::Caffe2, Some(shape)));
    }
    let mut doubles = [0.0; 2];
    model.read_f64(data(2), 0, &mut doubles).unwrap();
    assert_eq!(doubles, [i64::MIN as f64, i64::MAX as f64]);
    assert_eq!((floats_at(&model, data(0)), floats_at(&model, data(1))), (vec![0.0, 1.0, 1.0], vec![-300.0]));
    assert_eq!(floats_at(&model, data(3)), [0.0, 1.0, 254.0, 255.0]);
}

#[test]
fn whole_numbers_are_found_at_any_place_packed_or_not() {
    let numbers: Vec<i64> = (0..10_000).map(|number| (number - 5000) * 7_777_777).collect();
    let packed =
        |numbers: &[i64]| bytes(6, numbers.iter().flat_map(|number| varint(*number as u64)).collect::<Vec<_>>());
    let single = |numbers: &[i64]| numbers.iter().flat_map(|value| number(6, *value)).collect::<Vec<_>>();
    let mixed =
        [single(&numbers[..10]), packed(&numbers[10..5000]), bytes(99, "x"), packed(&[]), single(&numbers[5000..5001])];
    let cases =
        [vec![single(&numbers)], vec![packed(&numbers)], [mixed.to_vec(), vec![packed(&numbers[5001..])]].concat()];
    for fields in cases {
        let model = only("x", "GivenTensorInt64Fill", &[dims(&[10_000]), argument("values", &fields)]);
        assert_eq!(
            stored(&model, data(0)).1,
            numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>()
        );
        for first in [0, 1, 9, 4095, 4096, 4097, 4999, 5000, 9999] {
            let mut few = [0; 8];
            model.read_bytes(data(0), first, &mut few).unwrap();
            assert_eq!(i64::from_le_bytes(few), numbers[first as usize]);
        }
        assert_eq!(model.read_bytes(data(0), 9999, &mut [0; 16]).unwrap_err().kind(), ErrorKind::Argument);
    }
}

#[test]
fn a_quantized_tensor_has_its_values_its_scale_and_its_zero_point() {
    let text = argument("values", &[bytes(4, [0, 1, 254, 255])]);
    let scale = argument("Y_scale", &[fixed32(2, 0.5)]);
    let zero = argument("Y_zero_point", &[number(3, -2)]);
    let scales = argument("Y_scales", &[bytes(5, f32_bytes(&[0.25, 4.0]))]);
    let model = init_net(&[
        operator("w", "Int8GivenTensorFill", &[dims(&[2, 2]), text.clone(), scale.clone(), zero]),
        operator("b", "Int8GivenIntTensorFill", &[dims(&[2]), int_values(&[-5, 1 << 30]), scale, scales]),
        operator("plain", "Int8GivenTensorFill", &[dims(&[4]), text]),
    ]);
    let blobs = |layer: usize| {
        let blobs = model.layers()[layer].blobs();
        let shapes: Vec<_> = blobs.iter().map(|blob| blob.shape().to_vec()).collect();
        (shapes, (0..blobs.len()).map(|blob| stored(&model, At::data(layer, blob))).collect::<Vec<_>>())
    };
    let (f32, i32) =
        (|values: &[f32]| (Element::F32, f32_bytes(values)), |value: i32| (Element::I32, value.to_le_bytes().to_vec()));
    let of_bytes = || (Element::U8, vec![0, 1, 254, 255]);
    assert_eq!(blobs(0), (vec![vec![2, 2], vec![], vec![]], vec![of_bytes(), f32(&[0.5]), i32(-2)]));
    let bias = [(-5i32).to_le_bytes(), (1i32 << 30).to_le_bytes()].concat();
    assert_eq!(blobs(1), (vec![vec![2], vec![2], vec![]], vec![(Element::I32, bias), f32(&[0.25, 4.0]), i32(0)]));
    assert_eq!(blobs(2), (vec![vec![4], vec![], vec![]], vec![of_bytes(), f32(&[1.0]), i32(0)]), "Caffe2's defaults");
    let short = argument("values", &[bytes(4, [0, 1])]);
    assert!(
        refusal("Int8GivenTensorFill", &[dims(&[3]), short]).contains("its data has 2 values, and its shape 3 needs 3")
    );
}

#[test]
fn a_constant_fills_its_tensor() {
    let constant =
        |arguments: &[Vec<u8>]| stored(&only("x", "ConstantFill", &[&[dims(&[3])], arguments].concat()), data(0));
    let value = |field: Vec<u8>| argument("value", &[field]);
    let dtype = |number_| argument("dtype", &[number(3, number_)]);
    assert_eq!(constant(&[]), (Element::F32, f32_bytes(&[0.0; 3])));
    assert_eq!(constant(&[value(fixed32(2, 0.5))]), (Element::F32, f32_bytes(&[0.5; 3])));
    assert_eq!(constant(&[value(number(3, -9))]), (Element::I64, (-9i64).to_le_bytes().repeat(3)));
    assert_eq!(constant(&[value(number(3, -9)), dtype(2)]), (Element::I32, (-9i32).to_le_bytes().repeat(3)));
    assert_eq!(constant(&[value(fixed32(2, 0.1)), dtype(13)]), (Element::F64, f64_bytes(&[f64::from(0.1f32); 3])));
    assert_eq!(constant(&[value(number(3, 4)), dtype(5)]), (Element::Bool, vec![1; 3]));
    assert_eq!(constant(&[value(number(3, 200)), dtype(6)]), (Element::U8, vec![200; 3]));
    assert_eq!(constant(&[value(number(3, -4)), dtype(7)]), (Element::I8, vec![252; 3]));
    assert_eq!(constant(&[value(number(3, 65535)), dtype(8)]), (Element::U16, vec![255; 6]));
    assert_eq!(constant(&[dtype(9)]), (Element::I16, vec![0; 6]));
    let refused = |arguments: &[Vec<u8>]| refusal("ConstantFill", arguments);
    assert!(refused(&[value(number(3, 256)), dtype(6)]).contains("has a value that does not fit its dtype"));
    assert!(refused(&[value(number(3, 1)), dtype(1)]).contains("has a value of another type than its dtype"));
    assert!(refused(&[dtype(12)]).ends_with("run the net with Caffe2, and save the tensor's values"));
    assert!(refused(&[dtype(4)]).contains("repeats one text"));
    assert!(refused(&[dims(&[1 << 40])]).contains("repeats one value for more than 2 GiB"));
}

#[test]
fn a_tensor_of_texts_lends_each_as_bytes() {
    let texts = argument("values", &[bytes(7, "cat"), bytes(7, [0xff, 0]), bytes(7, "")]);
    let model = init_net(&[
        operator("labels", "GivenTensorStringFill", &[dims(&[3]), texts.clone()]),
        operator("w", "GivenTensorFill", &[dims(&[1]), float_values(&[1.0])]),
    ]);
    let labels = &model.layers()[0];
    let found = labels.texts().unwrap();
    assert_eq!((found.shape(), found.count(), found.bytes(), labels.blobs().len()), (&[3][..], 3, 5, 0));
    assert_eq!((0..3).map(|number| model.text(0, number).unwrap()).collect::<Vec<_>>(), [&b"cat"[..], &[0xff, 0], b""]);
    assert_eq!(
        model.text(0, 3).unwrap_err().to_string(),
        "init_net.pb: layer 0 \"labels\": has no text 3; ask for one of a layer's texts"
    );
    assert!(model.text(1, 0).is_err() && model.layers()[1].texts().is_none());
    assert!(
        refusal("GivenTensorStringFill", &[dims(&[2]), texts])
            .contains("its data has 3 values, and its shape 2 needs 2")
    );
}

#[test]
fn operators_whose_values_are_not_in_the_file_are_named_and_have_no_tensor() {
    let input = bytes(2, [bytes(1, "like"), bytes(2, "zeros"), bytes(4, "ConstantFill")].concat());
    let model = init_net(&[
        operator("w", "XavierFill", &[dims(&[2])]),
        operator("y", "Conv", &[argument("kernel", &[number(3, 3)]), argument("net", &[bytes(8, "inside")])]),
        input,
        bytes(2, ""),
        bytes(2, [bytes(2, "values"), bytes(2, "mask"), bytes(4, "Dropout")].concat()),
    ]);
    let layers: Vec<_> =
        model.layers().iter().map(|layer| (layer.name(), layer.type_name(), layer.blobs().len())).collect();
    assert_eq!(
        layers,
        [
            ("w", "XavierFill", 0),
            ("y", "Conv", 0),
            ("zeros", "ConstantFill", 0),
            ("", "", 0),
            ("values", "Dropout", 0),
            ("mask", "Dropout", 0)
        ]
    );
}

#[test]
fn a_tensor_that_contradicts_itself_is_refused_when_it_is_read() {
    let given = |arguments: &[Vec<u8>]| refusal("GivenTensorFill", arguments);
    assert!(given(&[dims(&[3]), float_values(&[1.0])]).contains("its data has 1 values, and its shape 3 needs 3"));
    assert!(given(&[dims(&[-1]), float_values(&[])]).contains("dimension 0 of its shape is -1"));
    assert!(given(&[dims(&[1; 40]), float_values(&[1.0])]).contains("its shape has 40 axes"));
    assert!(given(&[dims(&[1]), float_values(&[1.0]), float_values(&[1.0])]).contains("has an argument twice"));
    assert!(
        given(&[argument("shape", &[number(3, 1)]), float_values(&[1.0])]).contains("a number in place of a shape")
    );
    assert!(given(&[argument("dtype", &[bytes(4, "complex")])]).contains("has a dtype that is not read"));
    let texts = argument("values", &[bytes(7, "a"), bytes(7, "b")]);
    assert!(refusal("GivenTensorByteStringToUInt8Fill", &[dims(&[1]), texts]).contains("has not one text of bytes"));
    let like = bytes(2, [bytes(1, "like"), bytes(2, "x"), bytes(4, "GivenTensorFill"), float_values(&[1.0])].concat());
    let said = init_net(&[like]).array(data(0)).unwrap_err().to_string();
    assert!(said.contains("layer 0 \"x\", blob 0: the operator takes its shape from another tensor"), "{said}");
    let wide = only("x", "GivenTensorIntFill", &[dims(&[2]), int_values(&[1, 1 << 40])]);
    let error = wide.read_bytes(data(0), 0, &mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format);
    assert!(error.to_string().contains("value 1 is 1099511627776, which is no int32"), "{error}");
}

#[test]
fn nets_of_caffe2_are_told_from_those_of_caffe_by_their_fields() {
    let kind = |file: Vec<u8>| Model::from_bytes(file, "file", None).unwrap().kind();
    let fill = operator("w", "GivenTensorFill", &[dims(&[1]), float_values(&[1.0])]);
    assert_eq!(kind([bytes(1, "net"), fill.clone()].concat()), Kind::InitNet);
    assert_eq!(
        kind([bytes(2, [bytes(2, "x"), bytes(4, "Relu")].concat()), fill.clone(), bytes(7, "x")].concat()),
        Kind::InitNet
    );
    assert_eq!(kind([bytes(1, "net"), layer_v1("a", 18, &[])].concat()), Kind::Net);
    assert_eq!(kind([bytes(2, bytes(4, "bare")), bytes(6, "state"), layer_v1("a", 18, &[])].concat()), Kind::Net);
    assert_eq!(kind([bytes(1, "net"), layer_v0("a", "relu", &[])].concat()), Kind::Net);
    assert_eq!(kind([number(1, 3), fill].concat()), Kind::SolverState);
}

#[test]
fn a_net_of_caffe2_is_copied_but_not_changed() {
    let folder = Folder::new("init");
    let path = folder.file("init_net.pb", &operator("w", "GivenTensorFill", &[dims(&[1]), float_values(&[1.0])]));
    let (model, new) = (Model::open(&path).unwrap(), folder.0.join("new.pb"));
    Edit::of(&model).write_to(&new).unwrap();
    assert_eq!(std::fs::read(&new).unwrap(), std::fs::read(&path).unwrap());
    let error = Edit::of(&model).replace(data(0), Values::f32(&[2.0])).write_to(&new).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
