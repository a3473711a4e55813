//! The frame decoder, given any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    sateen_protocol_harness::frames::drive(bytes);
});
