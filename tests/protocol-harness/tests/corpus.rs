//! The fuzz targets' corpus, with every input that ever broke a machine.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

/// With fewer inputs of a target, some of its corpus is missing.
const INPUTS_MIN: usize = 100;

fn run_all(target: &str, drive: fn(&[u8]) -> u64) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus.tar.gz");
    let mut archive = Archive::new(GzDecoder::new(File::open(archive).expect("the corpus exists")));
    let (mut inputs, mut outputs) = (0, 0);
    for file in archive.entries().expect("the corpus is an archive") {
        let mut file = file.expect("the corpus can be read");
        let path = file.path().expect("it has a name").into_owned();
        if !path.starts_with(target) {
            continue;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("the corpus can be read");
        // Shown when a machine panics.
        eprintln!("{}", path.display());
        inputs += 1;
        outputs += drive(&bytes);
    }
    assert!(inputs >= INPUTS_MIN, "the corpus has {inputs} inputs for {target}");
    assert!(outputs > 1000, "the corpus has no effect on the machine: {outputs} outputs");
}

#[test]
fn frames() {
    run_all("frames", sateen_protocol_harness::frames::drive);
}

#[test]
fn host() {
    run_all("host", sateen_protocol_harness::host::drive);
}

#[test]
fn coordinator() {
    run_all("coordinator", sateen_protocol_harness::coordinator::drive);
}
