mod at_exit;
mod circumstances;
mod held;

pub use circumstances::Circumstances;
pub use held::{account, keep_account};
