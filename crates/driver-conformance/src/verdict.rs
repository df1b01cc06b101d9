use crate::driver::status::{self, Status};
use std::fmt::Debug;

#[derive(Debug)]
pub(crate) enum Verdict {
    Failed {
        expected: String,
        got: String,
    },
    Skipped(String),
    /// No failure: a rule of this driver that the documentation does not decide.
    Found(String),
}

pub(crate) type Outcome = Result<(), Verdict>;

impl Verdict {
    pub(crate) fn missing(entry_point: &str) -> Self {
        Verdict::Skipped(format!("the driver has no {entry_point}"))
    }

    /// A bug of the check.
    pub(crate) fn panicked() -> Self {
        Verdict::Failed { expected: "the check itself to work".into(), got: "a panic in it".into() }
    }

    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Verdict::Skipped(why.into())
    }
}

#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Reply {
    pub(crate) call: &'static str,
    pub(crate) status: Status,
}

impl Reply {
    pub(crate) fn ok(self) -> Outcome {
        self.is(status::SUCCESS)
    }

    pub(crate) fn is(self, expected: Status) -> Outcome {
        self.is_one_of(&[expected])
    }

    pub(crate) fn is_one_of(self, expected: &[Status]) -> Outcome {
        if expected.contains(&self.status) {
            return Ok(());
        }
        let names: Vec<String> = expected.iter().map(|&status| status::named(status)).collect();
        let expected = format!("{} from {}", names.join(" or "), self.call);
        Err(Verdict::Failed { expected, got: status::named(self.status) })
    }

    pub(crate) fn fails(self) -> Outcome {
        let expected = format!("an error from {}", self.call);
        if self.status == status::SUCCESS {
            return Err(Verdict::Failed { expected, got: status::named(self.status) });
        }
        Ok(())
    }
}

/// A reply and a value, or the driver lacks the entry point.
pub(crate) type Done = Result<Reply, Verdict>;

pub(crate) type Answer<T> = Result<(Reply, T), Verdict>;

pub(crate) trait Must<T> {
    fn must(self) -> Result<T, Verdict>;
}

impl<T> Must<T> for Answer<T> {
    fn must(self) -> Result<T, Verdict> {
        let (reply, value) = self?;
        reply.ok()?;
        Ok(value)
    }
}

impl Must<()> for Result<Reply, Verdict> {
    fn must(self) -> Result<(), Verdict> {
        self?.ok()
    }
}

/// `what` is a noun: "the size".
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, expected: T, got: T) -> Outcome {
    if expected == got {
        return Ok(());
    }
    Err(Verdict::Failed { expected: format!("{what} to be {expected:?}"), got: format!("{got:?}") })
}

pub(crate) fn differ<T: PartialEq + Debug>(what: &str, one: T, other: T) -> Outcome {
    if one != other {
        return Ok(());
    }
    Err(Verdict::Failed { expected: format!("{what} to differ"), got: format!("{one:?} both times") })
}

/// `otherwise`: the case if `fact` does not hold.
pub(crate) fn ensure(fact: bool, expected: impl Into<String>, otherwise: impl Into<String>) -> Outcome {
    if fact {
        return Ok(());
    }
    Err(Verdict::Failed { expected: expected.into(), got: otherwise.into() })
}
