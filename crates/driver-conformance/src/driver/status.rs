//! Statuses are numbers: a driver may be newer than any list of them.

pub(crate) type Status = i32;

macro_rules! statuses {
    ($($name:ident = $number:literal;)*) => {
        $(pub(crate) const $name: Status = $number;)*

        /// As `cuGetErrorName` has them, without the prefix.
        pub(crate) const KNOWN: &[(Status, &str)] = &[$(($name, stringify!($name)),)*];
    };
}

statuses! {
    SUCCESS = 0;
    INVALID_VALUE = 1;
    OUT_OF_MEMORY = 2;
    NOT_INITIALIZED = 3;
    DEINITIALIZED = 4;
    STUB_LIBRARY = 34;
    NO_DEVICE = 100;
    INVALID_DEVICE = 101;
    INVALID_CONTEXT = 201;
    PEER_ACCESS_UNSUPPORTED = 217;
    INVALID_HANDLE = 400;
    NOT_FOUND = 500;
    NOT_READY = 600;
    ILLEGAL_ADDRESS = 700;
    PEER_ACCESS_ALREADY_ENABLED = 704;
    PEER_ACCESS_NOT_ENABLED = 705;
    PRIMARY_CONTEXT_ACTIVE = 708;
    CONTEXT_IS_DESTROYED = 709;
    HOST_MEMORY_ALREADY_REGISTERED = 712;
    HOST_MEMORY_NOT_REGISTERED = 713;
    LAUNCH_FAILED = 719;
    NOT_PERMITTED = 800;
    NOT_SUPPORTED = 801;
    SYSTEM_DRIVER_MISMATCH = 803;
    STREAM_CAPTURE_UNSUPPORTED = 900;
    STREAM_CAPTURE_INVALIDATED = 901;
    STREAM_CAPTURE_MERGE = 902;
    STREAM_CAPTURE_UNMATCHED = 903;
    STREAM_CAPTURE_UNJOINED = 904;
    STREAM_CAPTURE_ISOLATION = 905;
    STREAM_CAPTURE_IMPLICIT = 906;
    CAPTURED_EVENT = 907;
    STREAM_CAPTURE_WRONG_THREAD = 908;
    UNKNOWN = 999;
}

/// As `cuGetErrorName`.
pub(crate) fn name(status: Status) -> Option<String> {
    let (_, name) = KNOWN.iter().find(|(number, _)| *number == status)?;
    Some(if status == SUCCESS { "CUDA_SUCCESS".into() } else { format!("CUDA_ERROR_{name}") })
}

pub(crate) fn named(status: Status) -> String {
    match name(status) {
        Some(name) => format!("{name} ({status})"),
        None => format!("status {status}"),
    }
}
