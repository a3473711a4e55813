//! Archives whose bytes depend only on what is in them.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// A file to be packed.
pub struct File {
    pub bytes: Vec<u8>,
    pub is_program: bool,
}

/// A gzipped tar archive of `files`, below one folder called `name`; `epoch` is their time in seconds since 1970.
pub fn pack(name: &str, files: &BTreeMap<String, File>, epoch: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, file) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(if file.is_program { 0o755 } else { 0o644 });
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{name}/{path}"), &file.bytes[..])?;
    }
    // A header without a time and a name: both would be this machine's.
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(&archive.into_inner()?)?;
    Ok(packed.finish()?)
}

/// The SHA-256 digest, as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn files(reversed: bool) -> BTreeMap<String, File> {
        let deep = format!("share/{}/x", "long/".repeat(40));
        let mut files = vec![
            ("bin/sateen".to_owned(), File { bytes: b"\x7fELF".to_vec(), is_program: true }),
            ("share/readme".to_owned(), File { bytes: b"read me\n".to_vec(), is_program: false }),
            (deep, File { bytes: vec![7; 3000], is_program: false }),
        ];
        if reversed {
            files.reverse();
        }
        files.into_iter().collect()
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let packed = pack("sateen-1", &files(false), 1_700_000_000).expect("it is packed");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let mut found = BTreeMap::new();
        for entry in archive.entries().expect("entries") {
            let mut entry = entry.expect("an entry");
            let header = entry.header();
            assert_eq!((header.mtime().ok(), header.uid().ok()), (Some(1_700_000_000), Some(0)));
            let is_program = header.mode().expect("a mode") & 0o111 != 0;
            let path = entry.path().expect("a path").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            found.insert(path, (bytes, is_program));
        }
        let expected: BTreeMap<_, _> = files(false)
            .into_iter()
            .map(|(path, file)| (format!("sateen-1/{path}"), (file.bytes, file.is_program)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_files_make_equal_archives() {
        let packed = |reversed, epoch| pack("sateen-1", &files(reversed), epoch).expect("it is packed");
        assert!(packed(false, 1) == packed(true, 1), "the order of adding can be seen");
        assert!(packed(false, 1) != packed(false, 2), "the time is not kept");
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        // FIPS 180-4, the example of one block.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
