//! Tensors in the library's account, to the byte, and the report of their allocations.

use std::ptr::null_mut;

use crate::handles::*;
use crate::objects::object;
use crate::support::figures::*;
use crate::support::pools::MIB;
use crate::support::*;

#[test(alone, ON, ("SYNCEDMEM_POOL_BUDGET", "0"))]
fn every_byte_of_tensors_is_in_the_account() {
    let tensor = Tensor::of(&[100]);
    assert_eq!(figures().pageable.live, 0, "a shape takes no memory of the account");
    tensor.mutable::<u8>(&float()).unwrap();
    let shared = Tensor::of(&[100]);
    shared.share_data(&tensor).unwrap();
    let objects = Tensor::of(&[1000]);
    objects.mutable::<u8>(&object()).unwrap();
    let large = Tensor::of(&[MIB as i64]);
    large.mutable::<u8>(&float()).unwrap();
    let mut data = null_mut();
    assert_eq!(unsafe { syncedmem_cpu_new(10, &mut data) }, SYNCEDMEM_SUCCESS);
    // Memory of the context has the address of its object before it.
    let all = [400, 4000, 4 * MIB, 10 + 64];
    let stats = counts();
    assert_eq!(
        (stats.pageable.live, stats.pageable.allocations),
        (all.iter().sum::<usize>() as u64, sum(4, all.iter().sum()))
    );
    // A new mapping holds zeros before anything is written.
    assert_eq!((stats.host_fills, stats.objects_made), (sum(3, 400 + 4000 + 10 + 64), 4));
    let mut own = [0u8; 400];
    tensor.share(own.as_mut_ptr(), &float(), 0).unwrap();
    assert_eq!(counts().pageable.live, all.iter().sum::<usize>() as u64, "the other tensor keeps it");
    unsafe { syncedmem_cpu_delete(data) };
    drop((tensor, shared, objects, large));
    let stats = counts();
    assert_eq!((stats.pageable.live, stats.pageable.frees), (0, sum(4, all.iter().sum())));
    assert_eq!((stats.objects_made, stats.objects_ended), (5, 5));
}

#[test]
fn the_report_has_a_line_for_each_block_from_its_begin_on() {
    let errors = alone(&[], || {
        let before = Tensor::of(&[10]);
        before.mutable::<u8>(&float()).unwrap();
        assert_eq!(syncedmem_tensor_report_allocations(true), SYNCEDMEM_SUCCESS);
        let tensor = Tensor::of(&[100]);
        tensor.mutable::<u8>(&float()).unwrap();
        drop(before);
        assert_eq!(syncedmem_tensor_report_allocations(false), SYNCEDMEM_SUCCESS);
        // A block that was reported once is reported to its end.
        drop(tensor);
        Tensor::of(&[7]).mutable::<u8>(&float()).unwrap();
    });
    if !inside() {
        let lines: Vec<_> = errors.lines().filter(|line| line.contains("tensor's")).collect();
        assert_eq!(
            lines,
            [
                "libsyncedmem: a tensor's host memory of 400 bytes was allocated; in all there are 400 bytes",
                "libsyncedmem: a tensor's host memory of 400 bytes was freed; in all there are 0 bytes",
            ]
        );
    }
}
