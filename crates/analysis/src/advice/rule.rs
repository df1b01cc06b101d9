use syncedmem_trace::head::Side;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    UnreadCopy,
    PingPong,
    PageableCopy,
    UnusedSide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Certainty {
    /// It follows from the calls and from what the library did.
    Certain,
    /// Only the caller can know.
    Possible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Object,
    CopyTo(Side),
    Memory(Side),
}

impl Rule {
    pub const ALL: [Rule; 4] = [Rule::UnreadCopy, Rule::PingPong, Rule::PageableCopy, Rule::UnusedSide];

    pub const fn name(self) -> &'static str {
        match self {
            Rule::UnreadCopy => "unread-copy",
            Rule::PingPong => "ping-pong",
            Rule::PageableCopy => "pageable-copy",
            Rule::UnusedSide => "unused-side",
        }
    }

    pub const fn change(self) -> &'static str {
        match self {
            Rule::PingPong => "prototxt",
            Rule::PageableCopy => "setting",
            Rule::UnreadCopy | Rule::UnusedSide => "source",
        }
    }

    pub const fn what_was_seen(self) -> &'static str {
        match self {
            Rule::UnreadCopy => "The data of a copy became void before any access asked for it.",
            Rule::PingPong => "An object was copied back and forth, four times or more in a row.",
            Rule::PageableCopy => "The same objects were copied from or to pageable memory repeatedly.",
            Rule::UnusedSide => "Memory is held on both sides, and only one of them is used.",
        }
    }

    pub const fn what_to_do(self, subject: Subject) -> &'static str {
        match (self, subject) {
            (Rule::UnreadCopy, Subject::CopyTo(Side::Device)) => {
                "Leave out this async_gpu_push, or push only once the data will not be written again \
                 before the device reads it."
            }
            (Rule::UnreadCopy, _) => "Leave out this async_cpu_pull, or pull only what cpu_data is then called for.",
            (Rule::PingPong, _) => {
                "Do the work between these copies on one side: replace the layer that asks for cpu_data by \
                 one with a GPU implementation, give it one, or keep all of them on the CPU."
            }
            (Rule::PageableCopy, _) => {
                "Have this memory page-locked: Caffe::set_mode(GPU) before its first use on the host, \
                 SYNCEDMEM_PIN=always, or syncedmem_pin for memory that is there already."
            }
            (Rule::UnusedSide, Subject::Memory(Side::Device)) => {
                "Call syncedmem_release_gpu once the device is done with it: the host has the newest data."
            }
            (Rule::UnusedSide, _) => {
                "Call syncedmem_release_cpu once the data is on the device: the host's copy of it is \
                 not used again."
            }
        }
    }

    /// The limits of what the library can know.
    pub const fn not_known(self, certainty: Certainty) -> &'static str {
        match (self, certainty) {
            (Rule::UnreadCopy, Certainty::Certain) => "No caller had an address to read the data through.",
            (Rule::UnreadCopy, _) => {
                "A caller may have read it through an address that it got before the copy: the library does not see that."
            }
            (Rule::PingPong, _) => "Only the caller knows whether the work between the copies can be done on one side.",
            (Rule::PageableCopy, _) => {
                "The time that pinning takes is not subtracted, and the saving is unknown if this run \
                 made no pinned copy of 64 KiB or more."
            }
            (Rule::UnusedSide, _) => {
                "The library does not see use through an address that a caller got before, nor, unless \
                 every access is counted, reads of a side that is up to date."
            }
        }
    }
}

impl Certainty {
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::Possible => "possible",
        }
    }
}
