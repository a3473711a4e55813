//! What a module offers, as the catalogue keeps it.

use sateen_module::{Determinism, ModuleLimits};
use sateen_protocol::ROOT_KIND;
use serde::{Deserialize, Serialize};

/// What is known of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// How far its results can depend on the machine: `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points, sorted.
    pub entry_points: Vec<String>,
    /// Names of its jobs, sorted; a job's kind is its place here.
    pub jobs: Vec<String>,
}

impl About {
    /// The name of a job kind. The root's is that of its entry point.
    pub fn job<'a>(&'a self, kind: u32, entry_point: &'a str) -> &'a str {
        if kind == ROOT_KIND {
            return entry_point;
        }
        self.jobs.get(kind as usize).map_or("unknown", String::as_str)
    }
}

/// Reads and validates a module.
///
/// # Errors
/// When no host could run it; the sentence says why.
pub fn inspect(bytes: &[u8]) -> Result<About, String> {
    let inspection = sateen_module::inspect(bytes, &ModuleLimits::default());
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
    Ok(About { determinism: determinism.to_owned(), entry_points: inspection.mains, jobs: inspection.jobs })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: &str = r#"(memory (export "memory") 1)"#;

    fn of(parts: &str) -> Result<About, String> {
        inspect(&wat::parse_str(format!("(module {MEMORY} {parts})")).expect("the test's own text is valid"))
    }

    #[test]
    fn what_an_app_offers_is_read() {
        let about = of(r#"
            (func (export "sateen_abi_1"))
            (func (export "sateen_main_main") (param f64) (result f64) (f64.sqrt (local.get 0)))
            (func (export "sateen_job_b"))
            (func (export "sateen_job_a"))"#)
        .expect("an app");
        assert_eq!(about.entry_points, ["main"]);
        assert_eq!(about.jobs, ["a", "b"]);
        assert_eq!(about.determinism, "float");
        assert_eq!(
            (about.job(1, "main"), about.job(ROOT_KIND, "main"), about.job(7, "main")),
            ("b", "main", "unknown")
        );
    }

    #[test]
    fn what_no_host_could_run_is_refused() {
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
