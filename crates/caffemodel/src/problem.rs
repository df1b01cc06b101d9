//! Reasons why a blob of a sound message cannot be read.

use std::fmt;

use crate::error::ErrorKind;

/// The most axes that Caffe allows.
pub(crate) const MOST_AXES: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Axes(u64),
    Negative {
        axis: usize,
        dim: i64,
    },
    TooLarge,
    Count {
        part: &'static str,
        found: u64,
        needed: u64,
    },
    /// Values are missing, and the message has fields that the crate's documentation does not list.
    Fork {
        part: &'static str,
        found: u64,
        needed: u64,
        fields: Unknown,
    },
    /// The bytes are of a type of NVIDIA's Caffe that is not read.
    RawType {
        part: &'static str,
        number: Option<u64>,
    },
    RawCut {
        part: &'static str,
        bytes: u64,
        size: u64,
    },
    /// Caffe2's operator cannot be read, for this reason.
    Fill(&'static str),
}

impl Problem {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::RawType { .. } | Self::Axes(_) | Self::Fill(_) | Self::Fork { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Format,
        }
    }

    pub fn in_words<'p>(&'p self, shape: &'p [i64]) -> impl fmt::Display + 'p {
        InWords(self, shape)
    }

    pub fn advice(&self) -> &'static str {
        match self {
            Self::RawType { .. } | Self::Fork { .. } => "save it as float with the Caffe that wrote it",
            Self::Axes(_) => "Caffe cannot read it either: save it with fewer axes",
            Self::Fill(_) => "run the net with Caffe2, and save the tensor's values",
            _ => "the file is damaged or was written by a faulty program: fetch it again, or save it anew",
        }
    }
}

/// The first numbers of a message's unknown fields; 0 marks a free slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    numbers: [u32; 8],
    has_more: bool,
}

impl Unknown {
    pub fn add(&mut self, number: u32) {
        let Self { numbers, has_more } = self;
        if numbers.contains(&number) {
            return;
        }
        match numbers.iter_mut().find(|free| **free == 0) {
            Some(free) => *free = number,
            None => *has_more = true,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.numbers[0] == 0
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut numbers = self.numbers;
        numbers.sort_unstable();
        let mut numbers = numbers.into_iter().filter(|number| *number != 0);
        numbers.next().map_or(Ok(()), |first| write!(formatter, "{first}"))?;
        numbers.try_for_each(|number| write!(formatter, ", {number}"))?;
        if self.has_more { formatter.write_str(" and others") } else { Ok(()) }
    }
}

struct InWords<'p>(&'p Problem, &'p [i64]);

impl fmt::Display for InWords<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Problem::Fill(what) => write!(formatter, "the operator {what}"),
            Problem::Axes(axes) => write!(formatter, "its shape has {axes} axes, and at most {MOST_AXES} are allowed"),
            Problem::Negative { axis, dim } => write!(formatter, "dimension {axis} of its shape is {dim}"),
            Problem::TooLarge => write!(formatter, "its shape has more values than 64 bits can count"),
            Problem::Count { part, found, needed } => {
                write!(formatter, "its {part} has {found} values, and its shape {} needs {needed}", Shape(self.1))
            }
            Problem::Fork { part, found, needed, fields } => {
                let shape = Shape(self.1);
                write!(
                    formatter,
                    "its {part} has {found} of the {needed} values of its shape {shape}: the others are in unknown fields {fields} of a fork"
                )
            }
            Problem::RawType { part, number: None } => {
                write!(formatter, "its {part} is stored as bytes without their type, as a fork may")
            }
            Problem::RawType { part, number: Some(number) } => {
                let name = match number {
                    3 => "INT",
                    4 => "UINT",
                    5 => "BOOL",
                    _ => "unknown",
                };
                write!(formatter, "its {part} is stored as bytes of type {number} ({name}), which is not read")
            }
            Problem::RawCut { part, bytes, size } => {
                write!(formatter, "its {part} has {bytes} bytes, and a value has {size}")
            }
        }
    }
}

/// Dimensions as `64x3x7x7`; those of a single value as `()`.
pub struct Shape<'s, Dim>(pub &'s [Dim]);

impl<Dim: fmt::Display> fmt::Display for Shape<'_, Dim> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Some((first, others)) = self.0.split_first() else { return formatter.write_str("()") };
        write!(formatter, "{first}")?;
        others.iter().try_for_each(|dim| write!(formatter, "x{dim}"))
    }
}
