//! Reading of values: an object gets those of the file.

use crate::opened::*;
use crate::support::*;
use crate::wire::{self, bytes, f32_bytes, f64_bytes, layer, layer_v1, legacy, number, shape};

#[test]
fn a_nets_layers_and_blobs_are_listed_and_read() {
    let old = [legacy(&[1, 1, 2, 3]), bytes(5, f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))].concat();
    let file = [
        bytes(1, "LeNet"),
        layer("data", "Input", &[]),
        layer("conv/1", "Convolution", &[wire::blob(&[2, 1], &[0.5, -0.5]), wire::blob(&[], &[7.0])]),
        layer_v1("ip", 14, &[old]),
    ]
    .concat();
    let model = opened(&Folder::new(), "lenet.caffemodel", &file);
    let info = model.info();
    assert_eq!((info.kind, text(info.name)), (SYNCEDMEM_MODEL_NET as i32, "LeNet".to_string()));
    let named = |name: &str, of: &str, blobs| (name.to_string(), of.to_string(), blobs);
    let expected = [named("data", "Input", 0), named("conv/1", "Convolution", 2), named("ip", "InnerProduct", 1)];
    assert_eq!(model.layers(), expected);

    let blob = model.blob(2, 0);
    let shapes = unsafe {
        [(blob.shape, blob.axes), (blob.net_shape, blob.net_axes)]
            .map(|(dims, axes)| std::slice::from_raw_parts(dims, axes as usize))
    };
    assert_eq!(shapes, [&[1, 1, 2, 3][..], &[2, 3]]);
    assert_eq!((blob.count, blob.element_type, blob.has_diff), (6, SYNCEDMEM_FLOAT32 as i32, false));
    assert_eq!((model.blob(1, 1).axes, model.blob(1, 1).count), (0, 1));

    for (layer, blob, expected) in
        [(1, 0, &[0.5f32, -0.5][..]), (1, 1, &[7.0]), (2, 0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]
    {
        let mut object = Object::new(expected.len() * 4);
        let status = unsafe { syncedmem_model_read_blob(model.0, layer, blob, 0, 0, object.mem()) };
        assert_eq!(status, SYNCEDMEM_SUCCESS);
        assert_eq!((values::<f32>(&mut object), object.head()), (expected.to_vec(), 1));
    }
}

#[test]
fn blobs_say_what_they_are_to_pytorch() {
    let param = bytes(117, number(6, 1));
    let weights = bytes(7, wire::blob(&[3, 2], &[0.0; 6]));
    let transposed = bytes(100, [bytes(1, "fc"), bytes(2, "InnerProduct"), param, weights].concat());
    let shared = layer("pr", "PReLU", &[wire::blob(&[], &[0.25])]);
    let norm =
        layer("bn", "BatchNorm", &[wire::blob(&[2], &[0.0; 2]), wire::blob(&[2], &[1.0; 2]), wire::blob(&[1], &[1.0])]);
    let file = [transposed, shared, norm, layer("lstm", "LSTM", &[wire::blob(&[4], &[0.0; 4])])].concat();
    let model = opened(&Folder::new(), "net.caffemodel", &file);
    let found = |layer, blob| {
        let info = model.blob(layer, blob);
        let shape = unsafe { std::slice::from_raw_parts(info.torch_shape, info.torch_axes as usize) };
        (info.torch_role, shape.to_vec())
    };
    assert_eq!(found(0, 0), (SYNCEDMEM_TORCH_TRANSPOSED_WEIGHT as i32, vec![3, 2]));
    assert_eq!(found(1, 0), (SYNCEDMEM_TORCH_WEIGHT as i32, vec![1]));
    assert_eq!(found(2, 1), (SYNCEDMEM_TORCH_RUNNING_VAR as i32, vec![2]));
    assert_eq!(found(2, 2), (SYNCEDMEM_TORCH_FACTOR as i32, vec![1]));
    assert_eq!(found(3, 0), (SYNCEDMEM_TORCH_NONE as i32, vec![4]));
}

#[test]
fn names_that_are_no_utf8_or_have_a_nul_are_different_strings() {
    let layer = |name: &[u8], of| bytes(100, [bytes(1, name), bytes(2, of)].concat());
    let layers = [layer(b"\xbe\xed", "ReLU"), layer(b"\xbc\xd7", "ReLU"), layer(b"a\0b", "\0"), layer(b"a\0c", "ReLU")];
    let model = opened(&Folder::new(), "gbk.caffemodel", &[bytes(1, "net\0x"), layers.concat()].concat());
    assert_eq!(text(model.info().name), "net%00x");
    let expected = [("%BE%ED", "ReLU"), ("%BC%D7", "ReLU"), ("a%00b", "%00"), ("a%00c", "ReLU")];
    assert_eq!(model.layers(), expected.map(|(name, of)| (name.to_string(), of.to_string(), 0)));
}

#[test]
fn gradients_are_read_by_their_part_and_refused_where_there_are_none() {
    let with_diff = [shape(&[2]), bytes(5, f32_bytes(&[1.0, 2.0])), bytes(6, f32_bytes(&[3.0, 4.0]))].concat();
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[with_diff, wire::blob(&[1], &[9.0])]));
    assert!(model.blob(0, 0).has_diff);
    let mut object = Object::new(8);
    let mut read = |blob, part| unsafe { syncedmem_model_read_blob(model.0, 0, blob, part, 0, object.mem()) };
    assert_eq!(read(0, SYNCEDMEM_DIFF as i32), SYNCEDMEM_SUCCESS);
    assert_refused(
        read(1, SYNCEDMEM_DIFF as i32),
        SYNCEDMEM_ERROR_INVALID_ARGUMENT,
        "layer 0 \"a\", blob 1: has no diff; read its data",
    );
    assert_eq!(read(0, 2), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    assert_eq!(values::<f32>(&mut object), [3.0, 4.0]);
}

#[test]
fn values_are_read_as_they_are_stored_as_floats_and_as_doubles() {
    let count = 1500i64;
    let numbers: Vec<f64> = (0..count).map(|number| number as f64 + 0.5).collect();
    let doubles = [shape(&[count]), bytes(8, f64_bytes(&numbers))].concat();
    let floats = wire::blob(&[count], &numbers.iter().map(|number| *number as f32).collect::<Vec<_>>());
    // 1.5 and -2 as halves of NVIDIA's.
    let halves = [shape(&[2]), number(10, 2), bytes(12, [0x00, 0x3e, 0x00, 0xc0])].concat();
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[doubles, floats, halves]));
    let stored = [0, 1, 2].map(|blob| model.blob(0, blob).element_type);
    assert_eq!(stored, [SYNCEDMEM_FLOAT64, SYNCEDMEM_FLOAT32, SYNCEDMEM_FLOAT16].map(|of| of as i32));
    for blob in [0, 1] {
        let mut object = Object::new(count as usize * 8);
        assert_eq!(model.read(blob, SYNCEDMEM_FLOAT64, &mut object), SYNCEDMEM_SUCCESS);
        assert_eq!(values::<f64>(&mut object), numbers);
        let expected: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
        assert_eq!(model.floats(blob, count as usize), expected);
    }
    let mut object = Object::new(4);
    assert_eq!(model.read(2, SYNCEDMEM_FLOAT16, &mut object), SYNCEDMEM_SUCCESS);
    assert_eq!(values::<u16>(&mut object), [0x3e00, 0xc000]);
    assert_eq!(model.floats(2, 2), [1.5, -2.0]);
    for (blob, of) in [(0, SYNCEDMEM_FLOAT16), (1, SYNCEDMEM_FLOAT16), (1, SYNCEDMEM_INT32), (2, SYNCEDMEM_INT8)] {
        assert_refused(
            model.read(blob, of, &mut object),
            SYNCEDMEM_ERROR_INVALID_ARGUMENT,
            "; ask for float32, float64 or the type that they are stored in",
        );
    }
}

#[test]
fn values_go_into_memory_of_the_callers_that_is_not_aligned_for_them() {
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[wire::blob(&[3], &[1.0, 2.0, 3.0])]));
    let mut memory = [0u8; 25];
    let mut object = Object::new(24);
    assert_eq!(object.set_cpu_data(&raw mut memory[1]), SYNCEDMEM_SUCCESS);
    assert_eq!(model.read(0, SYNCEDMEM_FLOAT64, &mut object), SYNCEDMEM_SUCCESS);
    assert_eq!(memory[1..], f64_bytes(&[1.0, 2.0, 3.0]));
}

#[test]
fn of_a_larger_object_the_rest_stays_and_a_smaller_one_is_refused() {
    let model = opened(&Folder::new(), "a.caffemodel", &layer("a", "Scale", &[wire::blob(&[2], &[1.0, 2.0])]));
    let mut object = Object::new(12);
    assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS);
    assert_eq!(values::<f32>(&mut object), [1.0, 2.0, 0.0]);
    unsafe { object.mutable_cpu_data().unwrap().cast::<[f32; 3]>().write([7.0, 8.0, 9.0]) };
    assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut object), SYNCEDMEM_SUCCESS);
    assert_eq!(values::<f32>(&mut object), [1.0, 2.0, 9.0]);
    let mut small = Object::new(7);
    assert_eq!(model.read(0, SYNCEDMEM_FLOAT32, &mut small), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    let expected = "its 2 values of float32 need 8 bytes, and the object has 7; pass an object of at least that size";
    assert!(last_error().contains(expected), "{}", last_error());
    assert_eq!(small.head(), 0);
}
