//! A naive model of a tensor: blocks are vectors of bytes, and nothing is decided twice.

use std::cell::RefCell;
use std::rc::Rc;

use crate::objects::BORN;

/// The types of the sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Plain, 4 bytes.
    Float,
    /// Plain, 8 bytes.
    Double,
    /// Constructed, 4 bytes.
    Object,
}

impl Kind {
    pub fn bytes(self) -> usize {
        if self == Kind::Double { 8 } else { 4 }
    }
}

#[derive(Debug)]
pub struct Block {
    pub bytes: Vec<u8>,
    pub kind: Kind,
    /// Whether it is the caller's.
    pub external: bool,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub dims: Vec<i64>,
    pub size: i64,
    pub kind: Option<Kind>,
    pub block: Option<Rc<RefCell<Block>>>,
    pub shares: bool,
    pub reserved: bool,
    /// The settings: whether memory is kept when a tensor shrinks, and how much of it.
    pub keep: (bool, i64),
}

/// The error of a move that the model refuses.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

fn product(dims: &[i64]) -> i64 {
    dims.iter().product()
}

impl Model {
    pub fn new(keep: (bool, i64)) -> Model {
        Model { dims: vec![], size: -1, kind: None, block: None, shares: false, reserved: false, keep }
    }

    pub fn itemsize(&self) -> usize {
        self.kind.map_or(0, Kind::bytes)
    }

    pub fn nbytes(&self) -> usize {
        self.size.max(0) as usize * self.itemsize()
    }

    pub fn capacity(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.borrow().bytes.len())
    }

    fn new_block(&self, kind: Kind, bytes: usize) -> Rc<RefCell<Block>> {
        let item = if kind == Kind::Object { BORN } else { [0; 4] };
        Rc::new(RefCell::new(Block { bytes: item.into_iter().cycle().take(bytes).collect(), kind, external: false }))
    }

    fn serves(&self, kind: Kind, bytes: usize) -> bool {
        self.block.as_ref().is_some_and(|block| {
            let block = block.borrow();
            block.bytes.len() >= bytes && (block.kind == kind || ![block.kind, kind].contains(&Kind::Object))
        })
    }

    pub fn free(&mut self) {
        (self.block, self.shares, self.reserved) = (None, false, false);
    }

    pub fn resize(&mut self, dims: &[i64]) {
        let before = self.size;
        (self.dims, self.size) = (dims.to_vec(), product(dims));
        let (has, needs) = (self.capacity() as i64, self.nbytes() as i64);
        let frees = has < needs || (!self.reserved && (!self.keep.0 || has - needs > self.keep.1));
        if self.size != before && frees {
            self.free();
        }
    }

    pub fn reshape(&mut self, dims: &[i64]) -> Result<(), Refused> {
        if product(dims) != self.size {
            return Err(Refused);
        }
        self.dims = dims.to_vec();
        Ok(())
    }

    pub fn shrink(&mut self, outer: i64) -> Result<(), Refused> {
        if self.dims.first().is_none_or(|&now| now < outer) {
            return Err(Refused);
        }
        self.dims[0] = outer;
        self.size = product(&self.dims);
        Ok(())
    }

    pub fn reserve(&mut self, dims: &[i64]) {
        let asked = product(dims) as usize * self.itemsize();
        let Some(kind) = self.kind.filter(|_| asked > self.capacity()) else { return };
        let bytes = asked.max(self.nbytes());
        let block = self.new_block(kind, bytes);
        if let Some(old) = &self.block {
            let kept = self.nbytes();
            block.borrow_mut().bytes[..kept].copy_from_slice(&old.borrow().bytes[..kept]);
        }
        (self.block, self.shares, self.reserved) = (Some(block), false, true);
    }

    pub fn extend(&mut self, more: i64, percent: i64) -> Result<(), Refused> {
        let outer = *self.dims.first().ok_or(Refused)?;
        let mut dims = self.dims.clone();
        dims[0] += more;
        if self.block.is_some() && product(&dims) as usize * self.itemsize() > self.capacity() {
            let mut room = dims.clone();
            room[0] = room[0].max((outer * (100 + percent) + 99) / 100);
            self.reserve(&room);
        }
        (self.size, self.dims) = (product(&dims), dims);
        Ok(())
    }

    /// Makes the data mutable; returns whether there is an address.
    pub fn mutable(&mut self, kind: Kind) -> Result<bool, Refused> {
        if self.size < 0 {
            return Err(Refused);
        }
        let bytes = self.size as usize * kind.bytes();
        if !self.serves(kind, bytes) {
            self.free();
            self.block = (bytes > 0).then(|| self.new_block(kind, bytes));
        }
        self.kind = Some(kind);
        Ok(self.block.is_some())
    }

    pub fn share(&mut self, source: &Model) -> Result<(), Refused> {
        if self.size != source.size || (source.block.is_none() && source.size != 0) {
            return Err(Refused);
        }
        self.free();
        (self.kind, self.block) = (source.kind, source.block.clone());
        self.shares = self.block.is_some();
        Ok(())
    }

    pub fn copy(&mut self, source: &Model) -> Result<(), Refused> {
        if source.size < 0 || (source.block.is_none() && source.size != 0) {
            return Err(Refused);
        }
        self.kind = source.kind;
        self.resize(&source.dims);
        // Memory without a type is not used.
        let Some(kind) = source.kind else {
            self.free();
            return Ok(());
        };
        let bytes = self.nbytes();
        if self.block.is_some() && !self.serves(kind, bytes) {
            self.free();
        }
        if let (Some(theirs), 1..) = (&source.block, bytes) {
            let items = theirs.borrow().bytes[..bytes].to_vec();
            let block = self.block.get_or_insert_with(|| source.new_block(kind, bytes));
            block.borrow_mut().bytes[..bytes].copy_from_slice(&items);
        }
        Ok(())
    }

    /// Uses the caller's memory, with so many bytes more than the items need.
    pub fn external(&mut self, kind: Kind, more: usize, contents: u8) -> Result<(), Refused> {
        if self.size <= 0 {
            return Err(Refused);
        }
        let bytes = vec![contents; self.size as usize * kind.bytes() + more];
        self.free();
        (self.kind, self.shares) = (Some(kind), true);
        self.block = Some(Rc::new(RefCell::new(Block { bytes, kind, external: true })));
        Ok(())
    }
}
