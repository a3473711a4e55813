//! The bill of materials: CycloneDX 1.6 in JSON, one component for each crate in the programs, and what is linked or
//! embedded besides.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

use super::archive::sha256;
use super::licences::{EMBEDDED, spdx};
use super::packages::{Package, Packages};

/// The document of `packages`; `epoch` is its time in seconds since 1970.
pub fn document(packages: &Packages, epoch: u64) -> Result<Vec<u8>> {
    let (ours, others): (Vec<&Package>, Vec<&Package>) =
        packages.0.iter().partition(|package| package.is_ours);
    let mut components: Vec<Value> = ours.iter().chain(&others).map(|package| component(package)).collect();
    components.extend(EMBEDDED.iter().map(|part| {
        json!({
            "type": "library", "bom-ref": part.name, "name": part.name,
            "licenses": [{"expression": part.licence}], "description": part.is,
        })
    }));
    let whole = format!("sateen@{}", packages.version());
    let mut roots: Vec<String> = crate::build::PROGRAMS
        .iter()
        .flat_map(|name| packages.0.iter().filter(move |package| package.name == **name))
        .map(|package| reference(&package.name, &package.version))
        .collect();
    roots.extend(EMBEDDED.iter().map(|part| part.name.to_owned()));
    let mut dependencies = vec![json!({"ref": whole, "dependsOn": roots})];
    dependencies.extend(packages.0.iter().map(|package| {
        let below = package.dependencies.iter().map(|(name, version)| reference(name, version));
        json!({"ref": reference(&package.name, &package.version), "dependsOn": below.collect::<Vec<_>>()})
    }));
    let mut content = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(epoch)).to_string(),
            "component": {
                "type": "application", "bom-ref": whole, "name": "sateen", "version": packages.version(),
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    // A serial number from the content: equal contents have equal numbers.
    let digits = sha256(content.to_string().as_bytes());
    content["serialNumber"] = json!(format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..15],
        &digits[15..18],
        &digits[18..30]
    ));
    let mut text = serde_json::to_vec_pretty(&content)?;
    text.push(b'\n');
    Ok(text)
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&package.name, &package.version),
        "name": package.name,
        "version": package.version,
        "licenses": [{"expression": spdx(&package.licence)}],
        "scope": "required",
    });
    if !package.is_ours {
        component["purl"] = json!(format!("pkg:cargo/{}@{}", package.name, package.version));
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(description) = &package.description {
        component["description"] = json!(description);
    }
    if let Some(repository) = package.repository.as_ref().filter(|address| address.starts_with("https://")) {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

fn reference(name: &str, version: &str) -> String {
    format!("cargo:{name}@{version}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::pack::TARGET;

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_else() {
        let packages = Packages::read(&crate::build::PROGRAMS, TARGET).expect("packages");
        let bytes = document(&packages, 1_700_000_000).expect("a document");
        assert!(bytes == document(&packages, 1_700_000_000).expect("a document"), "it is not reproducible");
        let bill: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
        let components = bill["components"].as_array().expect("components");
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        for name in ["wasmtime", "libsqlite3-sys", "sateen-host", "ring", "musl"] {
            assert!(has(name), "it lacks {name}");
        }
        // Macros, build scripts, other systems' crates and tests.
        for name in ["serde_derive", "cc", "windows-sys", "trybuild", "sateen-tests"] {
            assert!(!has(name), "{name} is not in the programs");
        }
        let of = |list: &[Value], field: &str| -> BTreeSet<String> {
            list.iter().map(|item| item[field].as_str().expect("a name").to_owned()).collect()
        };
        let known = of(components, "bom-ref");
        assert_eq!(known.len(), components.len(), "a reference is given twice");
        let mut reached = BTreeSet::new();
        for entry in bill["dependencies"].as_array().expect("dependencies") {
            for below in entry["dependsOn"].as_array().expect("a list") {
                reached.insert(below.as_str().expect("a reference").to_owned());
            }
        }
        assert_eq!(reached, known, "a component that nothing needs, or a reference to none");
        for component in components.iter().filter(|component| component["purl"].is_string()) {
            assert_eq!(component["hashes"][0]["content"].as_str().map(str::len), Some(64), "{component}");
        }
    }
}
