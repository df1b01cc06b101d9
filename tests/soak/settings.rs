//! What holds for the length of a round.

use syncedmem::abi::c::policy::syncedmem_set_pinning;
use syncedmem::abi::c::pools::*;

use crate::subject::succeeds;
use crate::support::gpu::Gpu;
use crate::support::random::Random;

#[derive(Debug)]
pub struct Weather {
    pub threads: usize,
    pub pools: bool,
    /// Whether an object may end while work that the library does not know of uses its blocks.
    pub may_leave_work: bool,
    lag: u32,
}

impl Weather {
    pub fn of(random: &mut Random, threads: usize) -> Weather {
        let pools = !random.one_in(8);
        Weather {
            threads: if random.one_in(4) { 1 } else { threads },
            pools,
            // A block that is given back to the driver at once is the driver's to wait for.
            may_leave_work: pools && random.one_in(2),
            lag: if random.one_in(3) { random.of(&[20, 50, 100]) } else { 0 },
        }
    }

    /// Makes it so.
    pub fn begin(&self, random: &mut Random, gpu: &Gpu) {
        succeeds(syncedmem_set_pools(self.pools));
        succeeds(syncedmem_set_pinning(random.of(&[1, 1, 2])));
        succeeds(syncedmem_set_pool_age(10.0));
        succeeds(syncedmem_set_pool_budget(self.budget(random)));
        gpu.control().simcuda_set_lag(self.lag);
        gpu.control().simcuda_clear_log();
    }

    /// How much may lie idle of each kind.
    pub fn budget(&self, random: &mut Random) -> usize {
        // Every block must be kept that work may be left in.
        let budgets = [4 << 20, 8 << 20, 64 << 20, 1 << 30, 0, 1000, 64 << 10, 1 << 20];
        if self.may_leave_work { budgets[random.below(4)] } else { random.of(&budgets) }
    }
}
