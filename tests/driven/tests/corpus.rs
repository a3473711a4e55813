//! The fuzz targets' corpus, with every input that ever broke a machine.

use std::fs;
use std::path::Path;

fn run_all(target: &str, drive: fn(&[u8]) -> u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut outputs = 0;
    for file in fs::read_dir(&folder).expect("the corpus is there") {
        let path = file.expect("the corpus can be read").path();
        // Shown when a machine panics.
        eprintln!("{}", path.display());
        outputs += drive(&fs::read(&path).expect("the corpus can be read"));
    }
    assert!(outputs > 1000, "the corpus tells the machine nothing: {outputs} outputs");
}

#[test]
fn frames() {
    run_all("frames", sateen_driven::frames::drive);
}

#[test]
fn host() {
    run_all("host", sateen_driven::host::drive);
}

#[test]
fn coordinator() {
    run_all("coordinator", sateen_driven::coordinator::drive);
}
