//! The return addresses of a process's call sites.

use std::collections::HashMap;

use syncedmem_trace::event::Site;

use super::{Frame, Module, Resolver};

#[derive(Clone, Debug, Default)]
pub struct Stacks {
    pub modules: Vec<Module>,
    /// The return addresses of a site, the innermost first.
    pub addresses: HashMap<Site, Vec<u64>>,
    /// The site that a text stands for.
    sites: HashMap<String, Site>,
}

impl Stacks {
    /// Names the functions of sites that the process named by address: it sees only names that files export.
    pub fn name(&mut self, places: &mut HashMap<Site, String>) {
        let resolver = self.resolver();
        for (site, place) in places.iter_mut() {
            if let Some(named) = self.addresses.get(site).and_then(|addresses| named(place, addresses, &resolver)) {
                *place = named;
            }
        }
        let mut sites: Vec<_> = places.iter().map(|(&site, place)| (site, place.clone())).collect();
        sites.sort();
        // Of several sites with the same text, the first.
        self.sites = sites.into_iter().rev().map(|(site, place)| (place, site)).collect();
    }

    pub fn resolver(&self) -> Resolver {
        Resolver::new(self.modules.iter().cloned())
    }

    /// The frames of a place, the innermost first; empty if they were not recorded.
    pub fn frames(&self, resolver: &Resolver, place: &str) -> Vec<Frame> {
        let addresses = self.sites.get(place).and_then(|site| self.addresses.get(site));
        let theirs = addresses.into_iter().flatten().filter(|&&address| !resolver.is_ours(address));
        theirs.flat_map(|&address| resolver.frames(address)).collect()
    }
}

/// `train (program)` for `program+0x1234`, and for `the program+0x1234`.
fn named(place: &str, addresses: &[u64], resolver: &Resolver) -> Option<String> {
    let (name, offset) = place.rsplit_once("+0x")?;
    let call = u64::from_str_radix(offset, 16).ok()?;
    let of = |address| {
        resolver
            .module_at(address)
            .filter(|(module, offset)| *offset == call && (module == name || name == "the program"))
    };
    let (address, module) = addresses.iter().find_map(|&address| Some((address, of(address)?.0)))?;
    Some(format!("{} ({module})", resolver.function(address)?))
}
