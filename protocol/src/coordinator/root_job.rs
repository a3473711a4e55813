//! The first job of a run.

use crate::{JobSpec, KeyMaker, Lineage, ROOT_KIND, RunSpec};

/// The root job of a run; its inputs are part of its identity.
pub fn root_job(spec: &RunSpec) -> JobSpec {
    let function = format!("main {}", spec.function);
    let maker =
        KeyMaker::new(sateen_abi::VERSION, u8::from(spec.strict_nan), spec.app, &function, &spec.salt());
    // Words always encode: see the codec.
    let parameters = postcard::to_allocvec(&spec.arguments).unwrap_or_default();
    JobSpec {
        key: maker.key(&parameters),
        kind: ROOT_KIND,
        parameters: parameters.into(),
        depth: 0,
        lineage: Lineage::default(),
        redone: false,
        given_back: false,
        lookup_below: 0,
        objects: Vec::new(),
    }
}
