//! Hostile modules end with a clear error of the right kind, and the host continues. No contents or actions of a
//! module may make the host panic, hang, or run it without limits.

mod alone;
mod bytes;
#[cfg(target_os = "linux")]
mod cancelled;
#[cfg(target_os = "linux")]
mod compiling;
#[cfg(target_os = "linux")]
mod guests;
#[cfg(target_os = "linux")]
mod host_memory;
#[cfg(target_os = "linux")]
mod logs;
#[cfg(target_os = "linux")]
mod real_host;

/// The modules that may run anywhere, in this process's own engine.
mod here {
    macro_rules! tests {
        ($($file:ident :: $test:ident,)*) => {
            $(
                #[test]
                fn $test() {
                    sateen_tests::hostile::$file::$test();
                }
            )*
        };
    }

    sateen_tests::hostile_modules!(tests);
}
