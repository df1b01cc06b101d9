//! Without a driver, an operation that needs one says so and changes nothing.

use crate::support::driver::loaded;
use crate::support::tensor::{Ask, DEVICE, FLOATS, export, exports};
use crate::support::*;

fn every_operation_that_needs_a_device_is_refused_without_a_driver_and_changes_nothing() {
    alone(&[("SYNCEDMEM_TEST_DRIVER", "none")], || {
        assert!(loaded().is_none());
        use Operation::*;
        let nowhere = With {
            host: std::ptr::null_mut(),
            device: std::ptr::without_provenance_mut(512),
            stream: std::ptr::null_mut(),
        };
        let mut object = Object::new(100);
        let untouched = [GpuData, MutableGpuData, OverwriteGpuData, SetGpuData];
        let at_cpu = [GpuData, MutableGpuData, OverwriteGpuData, SetGpuData, Push];
        for (operations, head) in [(&untouched[..], 0), (&at_cpu[..], 1)] {
            for &operation in operations {
                let before = object.0;
                assert_eq!(object.run(operation, &nowhere), Err(SYNCEDMEM_ERROR_NO_GPU), "{operation:?}");
                assert!(last_error().contains("no GPU: "), "{}", last_error());
                assert!(object.0 == before && object.head() == head, "{operation:?}");
            }
            let before = object.0;
            let tensor = export(object.mem(), Ask { side: DEVICE, shape: &[25], ..FLOATS });
            assert_eq!(tensor.err(), Some(SYNCEDMEM_ERROR_NO_GPU));
            let waits = unsafe { syncedmem_stream_wait(object.mem(), std::ptr::null_mut()) };
            assert_eq!(waits, SYNCEDMEM_ERROR_NO_GPU);
            assert!(object.0 == before && exports(object.mem()) == (0, 0));
            object.fill_host(&[1; 100]);
        }
    });
}

crate::support::harness::tests![every_operation_that_needs_a_device_is_refused_without_a_driver_and_changes_nothing];
