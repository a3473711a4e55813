//! A host's machine, told anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    sateen_protocol_harness::host::drive(bytes);
});
