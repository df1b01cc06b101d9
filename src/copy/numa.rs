//! Memory on the NUMA node nearest to a device, if that is known and the system agrees.
#![expect(unsafe_code, reason = "mbind(2), and the driver is queried")]

use std::ffi::{CStr, c_int, c_ulong};

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID as HOST_NUMA_ID;
use syncedmem_trace::text::Text;

use crate::cuda::attributes;
use crate::cuda::driver::Driver;
use crate::memory::mapping::Mapping;
use crate::platform::limits::read;

/// More than any machine has.
const NODES: usize = 1024;
const BITS: usize = c_ulong::BITS as usize;

/// A device's node; `None` where there is only one.
pub fn node_of(driver: &Driver, device: c_int) -> Option<usize> {
    let mut buffer = [0; 256];
    if !has_several(read(c"/sys/devices/system/node/online", &mut buffer)?) {
        return None;
    }
    // From CUDA 12.2 on; -1: unknown.
    let known = attributes::attribute(driver, device, HOST_NUMA_ID).and_then(|node| usize::try_from(node).ok());
    known.or_else(|| node_on_bus(driver, device)).filter(|&node| node < NODES)
}

/// Whether a list such as `0-1,4` has more than one node.
fn has_several(list: &str) -> bool {
    list.contains([',', '-'])
}

fn node_on_bus(driver: &Driver, device: c_int) -> Option<usize> {
    let mut place = [0u8; 32];
    // SAFETY: `place` is writable for that length.
    unsafe { driver.device_bus(place.as_mut_ptr().cast(), 32, device) }.ok()?;
    place.make_ascii_lowercase();
    let place = CStr::from_bytes_until_nul(&place).ok()?.to_str().ok()?;
    let file = Text::<96>::of(format_args!("/sys/bus/pci/devices/{place}/numa_node"));
    let mut buffer = [0; 16];
    read(file.as_c_str(), &mut buffer)?.trim().parse().ok()
}

/// The pages come from `node`, or else from its neighbours; `false`: the system refuses.
pub fn prefer(mapping: &Mapping, node: usize) -> bool {
    let mut nodes = [0 as c_ulong; NODES / BITS];
    nodes[node / BITS] = 1 << (node % BITS);
    let (block, bytes) = (mapping.block().as_ptr(), mapping.room());
    // SAFETY: the range is the mapping's, and there are that many bits.
    unsafe { libc::syscall(libc::SYS_mbind, block, bytes, libc::MPOL_PREFERRED, nodes.as_ptr(), NODES, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_several_nodes_is_recognised() {
        assert_eq!(["0\n", "0-1\n", "0,4\n", ""].map(has_several), [false, true, true, false]);
    }

    #[test]
    fn a_mapping_has_the_policy_of_its_node_if_the_system_accepts_it() {
        const FOR_ADDRESS: libc::c_ulong = 2;
        let mapping = Mapping::of(4096).unwrap();
        let (is_accepted, mut mode) = (prefer(&mapping, 0), -1);
        // SAFETY: `mode` is writable, a null set of nodes is permitted, and the address is the mapping's.
        let answer = unsafe {
            let nowhere = std::ptr::null_mut::<c_ulong>();
            libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, nowhere, 0, mapping.block().as_ptr(), FOR_ADDRESS)
        };
        assert_eq!(answer == 0 && mode == libc::MPOL_PREFERRED, is_accepted);
        assert!(mapping.populate());
        mapping.unmap();
    }
}
