//! The coordinator's machine, told anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    sateen_protocol_harness::coordinator::drive(bytes);
});
