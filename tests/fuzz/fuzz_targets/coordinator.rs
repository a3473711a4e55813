//! The coordinator's machine, with any inputs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    sateen_protocol_harness::coordinator::drive(bytes);
});
