//! A table of a foreign library's functions, which are found by name and return an integer status.

/// Declares the table, its resolution, and a method for each entry. An optional entry's method returns `None` if the
/// library is too old. The table's `check` makes a result of a status.
macro_rules! entry_points {
    (
        $table:ident fails with $failure:ty;
        required { $($(#[$attribute:meta])* $symbol:ident as $name:ident($($argument:ident: $type:ty),*);)* }
        optional { $($(#[$attribute_2:meta])* $symbol_2:ident as $name_2:ident($($argument_2:ident: $type_2:ty),*);)* }
    ) => {
        pub struct $table {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
            $($name_2: Option<unsafe extern "C" fn($($type_2),*) -> c_int>,)*
        }

        impl $table {
            /// The error names the first function that is missing.
            ///
            /// # Safety
            /// `find` returns this library's function of a name.
            pub unsafe fn resolve(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<$table, &'static str> {
                let find = |name: &str| CStr::from_bytes_with_nul(name.as_bytes()).ok().and_then(&find);
                Ok($table {
                    $($name: {
                        let function = find(concat!(stringify!($symbol), "\0")).ok_or(stringify!($symbol))?;
                        // SAFETY: the caller's `find` returned the function, which has this signature in the library's headers.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(function) }
                    },)*
                    $($name_2: find(concat!(stringify!($symbol_2), "\0")).map(|function| {
                        // SAFETY: the caller's `find` returned the function, which has this signature in the library's headers.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type_2),*) -> c_int>(function) }
                    }),)*
                })
            }

            $($(#[$attribute])*
            /// # Safety
            /// The arguments fulfil the library's contract for this function.
            pub unsafe fn $name(&self, $($argument: $type),*) -> Result<(), $failure> {
                let _cancel_guard = $crate::platform::cancel_guard::CancelGuard::begin();
                // SAFETY: the caller of this method fulfils the function's contract.
                let status = unsafe { (self.$name)($($argument),*) };
                self.check(stringify!($symbol), status)
            })*

            $($(#[$attribute_2])*
            /// # Safety
            /// The arguments fulfil the library's contract for this function.
            unsafe fn $name_2(&self, $($argument_2: $type_2),*) -> Option<Result<(), $failure>> {
                let function = self.$name_2?;
                let _cancel_guard = $crate::platform::cancel_guard::CancelGuard::begin();
                // SAFETY: the caller of this method fulfils the function's contract.
                let status = unsafe { function($($argument_2),*) };
                Some(self.check(stringify!($symbol_2), status))
            })*
        }
    };
}
