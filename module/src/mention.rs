//! Searches a module's data for a text.

use wasmparser::{Parser, Payload};

/// Whether `text` occurs in the module's data, in UTF-8 or, as in AssemblyScript, in UTF-16. True if the bytes are not
/// a module, as nothing is known about them.
pub fn mentions(module: &[u8], text: &str) -> bool {
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let occurs = |data: &[u8]| contains(data, text.as_bytes()) || contains(data, &wide);
    for payload in Parser::new(0).parse_all(module) {
        match payload {
            Ok(Payload::DataSection(segments)) => {
                return segments
                    .into_iter()
                    .any(|segment| segment.map_or(true, |segment| occurs(segment.data)));
            }
            Ok(_) => {}
            Err(_) => return true,
        }
    }
    false
}

fn contains(data: &[u8], part: &[u8]) -> bool {
    part.is_empty() || data.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module whose data section has one segment.
    fn module(data: &[u8]) -> Vec<u8> {
        let segment = [&[1, 1, u8::try_from(data.len()).expect("short")], data].concat();
        let section = [&[11, u8::try_from(segment.len()).expect("short")], segment.as_slice()].concat();
        [b"\0asm\x01\0\0\0", section.as_slice()].concat()
    }

    #[test]
    fn only_data_count() {
        let words = module(b"traindata");
        assert!(mentions(&words, "data") && mentions(&words, "train") && !mentions(&words, "dato"));
        assert!(mentions(&module(b"d\0a\0t\0a\0"), "data"));
        let custom = [b"\0asm\x01\0\0\0".as_slice(), &[0, 5, 4], b"data"].concat();
        assert!(!mentions(&custom, "data"), "custom sections are not the app's data");
        assert!(mentions(b"no module", "data"));
    }
}
