//! Random lives of objects, as the library has them: their events, and what really became of them.

use syncedmem_trace::event::*;
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

use super::naive::{Act, Copy, Life};
use super::story::*;
use crate::support::random::Random;

const SIZES: [u64; 4] = [1000, 1100, 64 << 10, 70000];

#[derive(Clone, Copy, PartialEq)]
enum Block {
    None,
    Own(Kind, u64),
    Lent,
}

struct Object {
    address: u64,
    life: usize,
    size: u64,
    current: [bool; 2],
    blocks: [Block; 2],
    in_flight: Option<Side>,
}

pub struct World {
    random: Random,
    every_access: bool,
    compares: bool,
    told: Vec<Told>,
    lives: Vec<Life>,
    objects: Vec<Object>,
    call: u32,
}

/// An access that fails without a word.
struct Fails;

impl World {
    pub fn new(seed: u64, every_access: bool) -> World {
        let random = Random::new(seed, 0);
        World {
            random,
            every_access,
            compares: seed % 3 > 0,
            told: Vec::new(),
            lives: Vec::new(),
            objects: Vec::new(),
            call: 0,
        }
    }

    /// All events, and each life.
    pub fn report(mut self) -> (Vec<Told>, Vec<Life>) {
        for object in &self.objects {
            self.lives[object.life].current = object.current;
            self.lives[object.life].held = held(object);
        }
        (self.told, self.lives)
    }

    /// One call.
    pub fn step(&mut self) {
        self.call += 1;
        if self.random.one_in(15) {
            let (kind, bytes) = (self.random.of(&Kind::ALL), self.random.of(&SIZES));
            let not_locked = self.random.one_in(4) && !self.objects.is_empty();
            let object = if not_locked { self.objects[0].address } else { 0 };
            self.told.push(Told { object, ..turned_away(kind, bytes) });
        }
        if self.objects.len() < 3 {
            return self.make();
        }
        let index = self.random.below(3);
        let mut object = self.objects.swap_remove(index);
        let _ = match self.random.below(32) {
            0 => return self.end(object),
            1 => self.resize(&mut object),
            2 => self.lend(&mut object),
            3 => self.release(&mut object),
            4 | 5 => self.evict(&mut object),
            6..=8 => self.start(&mut object, Device),
            9..=11 => self.start(&mut object, Host),
            12 => self.finish(&mut object),
            _ => self.access(&mut object),
        };
        self.objects.push(object);
    }

    fn tell(&mut self, object: &Object, told: Told) {
        self.told.push(told.of(object.address));
    }

    fn act(&mut self, object: &Object, act: Act) {
        self.lives[object.life].acts.push((self.call, object.size, act));
    }

    fn make(&mut self) {
        let address = [0x10, 0x20, 0x30].into_iter().find(|at| self.objects.iter().all(|object| object.address != *at));
        let (size, maker) = (self.random.of(&SIZES), self.random.of(&[1, 2]));
        let (life, made_at) = (self.lives.len(), Site(maker));
        self.lives.push(Life { made: made_at, acts: Vec::new(), held: [0; 2], current: [false; 2] });
        let blocks = [Block::None; 2];
        let object = Object { address: address.unwrap(), life, size, current: [false; 2], blocks, in_flight: None };
        self.tell(&object, made(size).at(maker));
        self.objects.push(object);
    }

    fn end(&mut self, mut object: Object) {
        let _ = self.finish(&mut object);
        if self.compares && object.blocks[0] != Block::None {
            let changed = self.changed();
            self.compare(&object, Host, Since::Fill, changed);
        }
        self.lives[object.life].held = held(&object);
        self.lives[object.life].current = object.current;
        for side in [Host, Device] {
            self.free(&mut object, side);
        }
        self.tell(&object, ended());
        self.act(&object, Act::Ended);
    }

    fn resize(&mut self, object: &mut Object) -> Result<(), Fails> {
        self.finish(object)?;
        object.size = self.random.of(&SIZES);
        object.current = [false; 2];
        self.tell(object, resized(object.size));
        self.act(object, Act::Resized);
        for side in [Host, Device] {
            self.free(object, side);
            object.blocks[side as usize] = Block::None;
        }
        Ok(())
    }

    fn lend(&mut self, object: &mut Object) -> Result<(), Fails> {
        self.finish(object)?;
        let side = self.random.of(&[Host, Device]);
        self.tell(object, lent(side));
        self.act(object, Act::Lent(side));
        object.current = [side == Host, side == Device];
        self.free(object, side);
        object.blocks[side as usize] = Block::Lent;
        Ok(())
    }

    fn release(&mut self, object: &mut Object) -> Result<(), Fails> {
        self.finish(object)?;
        let side = self.random.of(&[Host, Device]);
        if object.current[side.other() as usize] {
            self.tell(object, released(side));
            self.give_back(object, side);
        }
        Ok(())
    }

    fn evict(&mut self, object: &mut Object) -> Result<(), Fails> {
        self.finish(object)?;
        let side = self.random.of(&[Host, Device]);
        let newest = object.current[side as usize] && !object.current[side.other() as usize];
        if !matches!(object.blocks[side as usize], Block::Own(..)) || object.current == [false; 2] {
            return Ok(());
        }
        if newest {
            self.copy(object, side.other(), Cause::Eviction)?;
        }
        self.tell(object, evicted(side, object.size, newest));
        self.give_back(object, side);
        Ok(())
    }

    fn give_back(&mut self, object: &mut Object, side: Side) {
        self.act(object, Act::GivenBack(side));
        object.current[side as usize] = false;
        self.free(object, side);
        object.blocks[side as usize] = Block::None;
    }

    /// A push or a pull.
    fn start(&mut self, object: &mut Object, to: Side) -> Result<(), Fails> {
        if object.current != [to == Device, to == Host] || object.in_flight == Some(Host) {
            return Ok(());
        }
        self.finish(object)?;
        if self.random.one_in(4) {
            return self.copy(object, to, Cause::Stream);
        }
        self.allocate(object, to)?;
        if to == Device {
            self.look(object, to);
        }
        let (path, site) = (self.path(), self.site());
        self.tell(object, started(to, object.size, path).at(site.0));
        self.act(object, Act::Copied(Copy { to, path, cause: None, took: None, site }));
        object.in_flight = Some(to);
        object.current[Device as usize] = true;
        Ok(())
    }

    fn finish(&mut self, object: &mut Object) -> Result<(), Fails> {
        let Some(to) = object.in_flight.take() else { return Ok(()) };
        self.tell(object, completed(to));
        if to == Host {
            self.act(object, Act::Landed);
            object.current = [true; 2];
        }
        Ok(())
    }

    fn access(&mut self, object: &mut Object) -> Result<(), Fails> {
        let (side, site) = (self.random.of(&[Host, Device]), self.site());
        let access = self.random.of(&[Read, Read, Write, Write, Overwrite]);
        let (is_current, is_other) = (object.current[side as usize], object.current[side.other() as usize]);
        let is_ready = is_current && (access == Read || !is_other);
        let waits = object.in_flight == Some(Host) && !(side == Device && access == Read);
        if is_ready && !waits {
            if self.every_access {
                self.tell(object, ready(side, access).at(site.0));
                self.act(object, Act::Asked(side, access));
                if access != Read {
                    self.act(object, Act::Wrote(side, access, site));
                }
            }
            return Ok(());
        }
        self.tell(object, asked(side, access).at(site.0));
        self.act(object, Act::Asked(side, access));
        let goes_on = side == Device && is_current && object.in_flight == Some(Device);
        if !goes_on {
            self.finish(object)?;
        }
        if !object.current[side as usize] {
            if access == Overwrite {
                let done = self.allocate(object, side);
                if done.is_err() && !matches!(self.told.last(), Some(Told { what: What::Failed { .. }, .. })) {
                    // A driver that fails in any other way than for want of memory leaves no event: a call that allocates
                    // next would be taken for this one.
                    self.tell(object, failed(side, object.size));
                }
                done?;
            } else if object.current[side.other() as usize] {
                self.copy(object, side, Cause::Access(access))?;
            } else {
                self.fill(object, side, access)?;
            }
        }
        if access != Read {
            // The access that copied is the one that its copy names.
            let site = match self.told.last() {
                Some(Told { what: What::Copied { .. }, site, .. }) => *site,
                _ => site,
            };
            self.act(object, Act::Wrote(side, access, site));
            object.current = [side == Host, side == Device];
        }
        Ok(())
    }

    fn fill(&mut self, object: &mut Object, side: Side, access: Access) -> Result<(), Fails> {
        self.allocate(object, side)?;
        let (site, took) = (self.site(), self.random.below(1000) as u64);
        self.tell(object, filled(side, object.size).at(site.0).taking(took));
        self.act(object, Act::Filled(side, access, site, took));
        object.current[side as usize] = true;
        Ok(())
    }

    /// A copy that is waited for.
    fn copy(&mut self, object: &mut Object, to: Side, cause: Cause) -> Result<(), Fails> {
        let is_new = object.blocks[to as usize] == Block::None;
        self.allocate(object, to)?;
        if to == Device || cause != Cause::Stream {
            self.look(object, to);
        }
        if self.random.one_in(12) {
            if is_new {
                self.free(object, to);
                object.blocks[to as usize] = Block::None;
            }
            return Err(Fails);
        }
        let (path, site, took) = (self.path(), self.site(), self.random.below(1000) as u64);
        self.tell(
            object,
            Told { what: What::Copied { to, bytes: object.size, path, cause }, ..ended().at(site.0).taking(took) },
        );
        self.act(object, Act::Copied(Copy { to, path, cause: Some(cause), took: Some(took), site }));
        object.current = [true; 2];
        Ok(())
    }

    fn allocate(&mut self, object: &mut Object, side: Side) -> Result<(), Fails> {
        if object.blocks[side as usize] != Block::None {
            return Ok(());
        }
        if self.random.one_in(12) {
            if self.random.one_in(2) {
                self.tell(object, failed(side, object.size));
            }
            return Err(Fails);
        }
        let kind = if side == Device { Kind::Device } else { self.random.of(&[Kind::Pageable, Kind::Pinned]) };
        let (took, site, pool) = (self.random.below(1000) as u64, self.site(), self.random.one_in(2));
        let block = if pool { pooled(kind, object.size) } else { fresh(kind, object.size) };
        self.tell(object, block.taking(took).at(site.0));
        object.blocks[side as usize] = Block::Own(kind, object.size);
        Ok(())
    }

    fn free(&mut self, object: &mut Object, side: Side) {
        if let Block::Own(kind, bytes) = object.blocks[side as usize] {
            self.tell(object, freed(kind, bytes));
            self.act(object, Act::Freed);
        }
    }

    /// Where contents are compared, those that are copied are.
    fn look(&mut self, object: &Object, to: Side) {
        if self.compares {
            let since =
                if to == Device { self.random.of(&[Since::Copy, Since::Copy, Since::Fill]) } else { Since::Copy };
            let changed = self.changed();
            self.compare(object, to.other(), since, changed);
        }
    }

    fn compare(&mut self, object: &Object, side: Side, since: Since, changed: Changed) {
        self.tell(object, Told { what: What::Compared { side, since, changed }, ..ended() });
        self.act(object, Act::Compared(side, since, changed));
    }

    fn changed(&mut self) -> Changed {
        self.random.of(&[Changed::Nothing, Changed::Part, Changed::Everything])
    }

    fn path(&mut self) -> Path {
        self.random.of(&[Path::Pinned, Path::Staged, Path::Pageable])
    }

    fn site(&mut self) -> Site {
        Site(3 + self.random.below(3) as u32)
    }
}

fn held(object: &Object) -> [u64; 2] {
    object.blocks.map(|block| if let Block::Own(_, bytes) = block { bytes } else { 0 })
}
