//! The contents of a module, for the catalogue.

mod arguments;

use std::collections::BTreeMap;

use sateen_module::{Determinism, Inspection, JobShape, ModuleLimits};
use sateen_protocol::ROOT_KIND;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use serde::{Deserialize, Serialize};

/// Maximum length of the description of an entry point's parameters, in characters.
const ARGUMENTS_SHOWN_MAX: usize = 256;
/// Maximum parameters of an entry point that are kept.
const PARAMETERS_BYTES_MAX: usize = 4096;

/// A description of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// How far its results can depend on the machine: `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points, sorted.
    pub entry_points: Vec<String>,
    /// Names of its jobs, sorted; a job's kind is its index here.
    pub jobs: Vec<String>,
    /// The parameters of each entry point, where the manifest has them, as the SDK wrote them.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// How the parameters and results of jobs are encoded, where the manifest says so.
    #[serde(default)]
    pub shapes: BTreeMap<String, String>,
    /// Initial size of an instance's memory, in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Maximum size of an instance's memory.
    #[serde(default)]
    pub memory_bytes_max: Option<u64>,
}

impl About {
    /// The name of a job kind. The root's is that of its entry point.
    pub fn job<'a>(&'a self, kind: u32, entry_point: &'a str) -> &'a str {
        if kind == ROOT_KIND {
            return entry_point;
        }
        self.jobs.get(kind as usize).map_or("unknown", String::as_str)
    }

    /// The encoding of each kind of job.
    pub fn shapes_by_kind(&self) -> Vec<Option<JobShape>> {
        self.jobs.iter().map(|job| JobShape::parse(self.shapes.get(job)?)).collect()
    }

    /// The parameters of its entry point `main`, or of its only one, for people.
    pub fn arguments(&self) -> Option<String> {
        let name = match &self.entry_points[..] {
            [only] => only,
            _ => "main",
        };
        Some(self.parameters.get(name)?.chars().take(ARGUMENTS_SHOWN_MAX).collect())
    }

    /// Checks whether an entry point accepts these words, as far as the manifest shows.
    ///
    /// # Errors
    /// The reason if it does not.
    pub fn check_arguments(&self, entry_point: &str, words: &[String]) -> Result<(), String> {
        let Some(parameters) = self.parameters.get(entry_point) else { return Ok(()) };
        arguments::check(parameters, words).map_err(|bad| bad.0)
    }
}

/// Reads and validates a module.
///
/// # Errors
/// When no host could run it; the sentence gives the reason.
pub fn inspect(bytes: &[u8]) -> Result<About, String> {
    let inspection = sateen_module::inspect(bytes, &ModuleLimits::widest(BLOB_BYTES_MAX));
    if let Some(why) = inspection.refusal() {
        return Err(why.to_owned());
    }
    if inspection.mains.is_empty() {
        return Err("it has no entry point: mark a function with #[main]".to_owned());
    }
    let determinism = match inspection.determinism {
        Some(Determinism::Integer) => "integer",
        Some(Determinism::Float) | None => "float",
    };
    Ok(About {
        determinism: determinism.to_owned(),
        parameters: parameters(&inspection),
        entry_points: inspection.mains,
        jobs: inspection.jobs,
        shapes: inspection.shapes,
        memory_bytes: Some(inspection.memory_bytes),
        memory_bytes_max: inspection.memory_bytes_max,
    })
}

/// Parses lines of the manifest: `main NAME(parameters) -> result`. Of two for one entry point, the first counts.
fn parameters(inspection: &Inspection) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in &inspection.manifest {
        let signature = line.strip_prefix("main ").and_then(|line| line.split_once('('));
        let Some((name, signature)) =
            signature.filter(|(name, _)| inspection.mains.iter().any(|main| main == name))
        else {
            continue;
        };
        let end = signature.rfind(") ->").or_else(|| signature.rfind(')'));
        if let Some(end) = end.filter(|end| *end <= PARAMETERS_BYTES_MAX) {
            all.entry(name.to_owned()).or_insert_with(|| signature[..end].to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: &str = r#"(memory (export "memory") 1)"#;

    fn of(parts: &str) -> Result<About, String> {
        inspect(&wat::parse_str(format!("(module {MEMORY} {parts})")).expect("the test's own text is valid"))
    }

    #[test]
    fn the_contents_of_an_app_are_read() {
        let about = of(r#"
            (func (export "sateen_abi_1"))
            (func (export "sateen_main_main") (param f64) (result f64) (f64.sqrt (local.get 0)))
            (func (export "sateen_job_b"))
            (func (export "sateen_job_a"))"#)
        .expect("an app");
        assert_eq!(about.entry_points, ["main"]);
        assert_eq!(about.jobs, ["a", "b"]);
        assert_eq!(about.determinism, "float");
        assert_eq!((about.memory_bytes, about.memory_bytes_max), (Some(65_536), None));
        assert_eq!(about.arguments(), None);
        assert_eq!(
            (about.job(1, "main"), about.job(ROOT_KIND, "main"), about.job(7, "main")),
            ("b", "main", "unknown")
        );
    }

    /// An app with a manifest, as the SDK writes it, and these entry points.
    fn arguments_of(manifest: &str, mains: &[&str]) -> Option<String> {
        let exports = mains.iter().map(|name| format!(r#"(func (export "sateen_main_{name}"))"#));
        let exports: String = exports.collect();
        let manifest = manifest.replace('\n', "\\n");
        let parts =
            format!(r#"(func (export "sateen_abi_1")) {exports} (@custom "sateen.manifest" "{manifest}")"#);
        of(&parts).expect("an app").arguments()
    }

    #[test]
    fn the_parameters_of_an_entry_point_are_those_of_its_manifest() {
        let manifest =
            "job main(x: u8) -> u8\nmain mainly(a: u8)\nmain main(n: u64, of: (u8, u8)) -> Result<u64, E>\n";
        assert_eq!(arguments_of(manifest, &["main", "mainly"]).as_deref(), Some("n: u64, of: (u8, u8)"));
        assert_eq!(arguments_of("main other(a: u8)", &["other"]).as_deref(), Some("a: u8"));
        assert_eq!(arguments_of("main main() -> u8", &["main"]).as_deref(), Some(""));
        assert_eq!(arguments_of("main a(x: u8)\nmain b(x: u8)", &["a", "b"]), None);
        let hostile = format!("main main({}", "(".repeat(1000));
        assert_eq!(arguments_of(&hostile, &["main"]), None);
        let long = format!("main main({}) -> u8", "x".repeat(1000));
        assert_eq!(arguments_of(&long, &["main"]).map(|text| text.len()), Some(ARGUMENTS_SHOWN_MAX));
    }

    #[test]
    fn modules_that_no_host_could_run_are_refused() {
        let abi = r#"(func (export "sateen_abi_1"))"#;
        let refused = |parts: &str, why: &str| {
            let refusal = of(parts).expect_err("it is refused");
            assert!(refusal.contains(why), "{refusal}");
        };
        refused("", "it has no export sateen_abi_1");
        refused(r#"(func (export "sateen_abi_2"))"#, "made for version 2 of the ABI");
        refused(abi, "it has no entry point");
        refused("(memory 1)", "not a valid module");
        let foreign = inspect(
            &wat::parse_str(format!(r#"(module (import "env" "f" (func)) {MEMORY} {abi})"#)).expect("valid"),
        );
        assert!(foreign.is_err_and(|why| why.contains("`env.f`")));
        assert!(inspect(b"hello").is_err_and(|why| why.starts_with("not a wasm module")));
    }
}
