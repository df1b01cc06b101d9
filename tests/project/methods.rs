//! The methods of C++ and Python: each function of the C API has one, or a line here with the reason.

use std::collections::BTreeSet;
use std::path::Path;

use crate::api::functions;
use crate::prose::files;
use crate::sources::HEADERS;

/// Functions without a method, and why.
type Without = (&'static [&'static str], &'static str);

const WITHOUT_CPP: [Without; 7] = [
    (&["syncedmem_construct", "syncedmem_destruct"], "the C++ class makes its own object"),
    (
        &["syncedmem_set_mode_callback", "syncedmem_set_error_callback"],
        "C functions with a pointer of the caller's: there is nothing to add",
    ),
    (&["syncedmem_end_capsule"], "CPython calls it"),
    (&["CaffeMallocHost", "CaffeFreeHost"], "for those who call it in Caffe"),
    (&["syncedmem_blob_type"], "the class has its type as a parameter"),
    (&["syncedmem_blob_axes"], "the class has a copy of its shape"),
    (&["syncedmem_blob_capacity"], "the size of the memory that data() and diff() lead to"),
];

const WITHOUT_PYTHON: [Without; 13] = [
    (
        &["CaffeMallocHost", "CaffeFreeHost", "syncedmem_cpu_new", "syncedmem_cpu_delete"],
        "objects have their own memory",
    ),
    (&["syncedmem_construct", "syncedmem_destruct"], "Python has no storage of the caller's"),
    (
        &[
            "syncedmem_cpu_data",
            "syncedmem_mutable_cpu_data",
            "syncedmem_overwrite_cpu_data",
            "syncedmem_gpu_data",
            "syncedmem_mutable_gpu_data",
            "syncedmem_overwrite_gpu_data",
            "syncedmem_set_cpu_data",
            "syncedmem_blob_set_cpu_data",
            "syncedmem_blob_set_gpu_data",
            "syncedmem_blob_gpu_shape",
            "syncedmem_tensor_share_external",
        ],
        "an address has no lifetime: arrays are tensors of DLPack",
    ),
    (&["syncedmem_size", "syncedmem_blob_type"], "known since the object was made"),
    (&["syncedmem_status_name"], "the names are those of the enumeration Status"),
    (
        &["syncedmem_set_mode_callback", "syncedmem_set_error_callback"],
        "foreign threads call them, for the rest of the process",
    ),
    (&["syncedmem_blob_legacy_offset"], "for addresses one past the end, which arrays do without"),
    (&["syncedmem_blob_shape_equals"], "a comparison of shapes; messages of protobuf are for C++"),
    (
        &[
            "syncedmem_blob_count_axes",
            "syncedmem_tensor_is_type",
            "syncedmem_tensor_dim",
            "syncedmem_tensor_dim32",
            "syncedmem_tensor_size_from_dim",
            "syncedmem_tensor_size_to_dim",
            "syncedmem_tensor_size_between_dim",
            "syncedmem_tensor_canonical_axis_index",
            "syncedmem_tensor_debug_string",
            "syncedmem_tensor_swap",
        ],
        "Python says it with the shape, the dtype, repr or names",
    ),
    (&["syncedmem_tensor_retain", "syncedmem_typed_blob_retain"], "handles that functions write are holders already"),
    (
        &[
            "syncedmem_typed_blob_create",
            "syncedmem_typed_blob_is_type",
            "syncedmem_typed_blob_get",
            "syncedmem_typed_blob_get_mutable",
            "syncedmem_typed_blob_reset",
            "syncedmem_typed_blob_release",
            "syncedmem_typed_blob_swap",
        ],
        "Python sees the tensors alone of blobs of one value of any type",
    ),
    (
        &["syncedmem_tensor_attach", "syncedmem_typed_blob_attach"],
        "for languages that refer to a tensor by the address of their own object",
    ),
    (&["syncedmem_tensor_report_allocations"], "stats and report say more"),
];

/// The words that follow one of the marks in the files of a folder with that ending.
fn used(folder: &str, ending: &str, marks: &[&str]) -> BTreeSet<String> {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    let files = files.iter().filter(|file| file.to_string_lossy().ends_with(ending));
    let texts: Vec<_> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let code = texts.iter().flat_map(|text| text.lines()).map(|line| line.split("//").next().unwrap_or_default());
    let after = code.flat_map(|line| marks.iter().flat_map(|mark| line.split(mark).skip(1)));
    let word = |text: &str| text.split(|c: char| c != '_' && !c.is_alphanumeric()).next().map(str::to_string);
    after.filter_map(word).collect()
}

#[track_caller]
fn are_complete(used: &BTreeSet<String>, headers: &[&str], without: &[Without]) {
    let declared = HEADERS.iter().filter(|header| headers.contains(&header.name)).flat_map(functions);
    let declared: BTreeSet<_> = declared.collect();
    let without: BTreeSet<_> = without.iter().flat_map(|(names, _)| *names).map(|name| name.to_string()).collect();
    let unused: BTreeSet<_> = declared.difference(used).cloned().collect();
    assert!(!declared.is_empty());
    let missing: Vec<_> = unused.difference(&without).collect();
    assert!(missing.is_empty(), "without a method, and without a reason: {missing:?}");
    let stale: Vec<_> = without.difference(&unused).collect();
    assert!(stale.is_empty(), "used, or not there: {stale:?}");
}

#[test]
fn every_function_has_a_method_in_cpp_or_a_reason() {
    are_complete(&used("include", ".hpp", &["(", " ", "!"]), &["syncedmem.h", "syncedmem_blob.h"], &WITHOUT_CPP);
}

#[test]
fn every_function_has_a_method_in_python_or_a_reason() {
    are_complete(&used("python/src", ".py", &["lib.", "lib, \""]), &HEADERS.map(|header| header.name), &WITHOUT_PYTHON);
}
