//! `sateen build`, and its errors.

use std::path::Path;
use std::process::{Command, Stdio};

use sateen_tests::command::{Ended, command, ended, run};
use sateen_tests::{kept, root};
use tempfile::TempDir;

const MAIN: &str = "#[sateen::main] fn main(n: u64) -> u64 { n + 1 }";

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder can be made")
}

/// A crate with this library in `folder`.
fn write_crate(folder: &Path, name: &str, kinds: &str, source: &str) {
    let sdk = root().join("guest-sdk");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[lib]\ncrate-type = [{kinds}]\n\
         [dependencies]\nsateen = {{ path = {sdk:?} }}\n[workspace]\n"
    );
    std::fs::create_dir_all(folder.join("src")).expect("it can be made");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("it can be written");
    std::fs::write(folder.join("src/lib.rs"), source).expect("it can be written");
}

fn build_command(folder: &Path, more: &[&str]) -> Command {
    let mut command = command(["build"]);
    command
        .args(more)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", kept().join("crates"))
        .stdin(Stdio::null());
    command
}

/// Builds a crate of this name with this source.
fn build(name: &str, source: &str) -> (TempDir, Ended) {
    let folder = folder();
    write_crate(folder.path(), name, "\"cdylib\"", source);
    let ended = ended(build_command(folder.path(), &[]));
    (folder, ended)
}

#[test]
fn a_crate_becomes_a_module_in_this_folder() {
    let (folder, built) = build("good-app", MAIN);
    assert_eq!((built.code, built.text()), (Some(0), ""), "{built:?}");
    assert!(
        built.stderr.lines().last().is_some_and(|line| line.starts_with("sateen: built good-app.wasm ("))
    );
    let module = folder.path().join("good-app.wasm");
    assert_eq!(run(["run".as_ref(), module.as_os_str(), "41".as_ref()]).result(), "42\n");

    // From an inner folder, to a chosen place, which is created.
    let output = folder.path().join("out/of/the/way.wasm").display().to_string();
    let built = ended(build_command(&folder.path().join("src"), &["--output", &output]));
    assert_eq!(built.code, Some(0), "{built:?}");
    assert_eq!(std::fs::read(output).expect("it was made"), std::fs::read(module).expect("it was made"));
}

#[test]
fn a_module_describes_its_jobs_parameters_and_results() {
    let source = "#[sateen::job] fn search(at: (u8, i64), names: Vec<Option<String>>) -> Result<[u32; 4], String> {
            names.into_iter().flatten().next().map_or(Ok([at.0.into(); 4]), Err)
        }
        #[sateen::main] fn main(n: u64) -> u64 { search::spawn((1, -2), Vec::new()).sync().map_or(n, |all| all[0].into()) }";
    let (folder, built) = build("shaped", source);
    assert_eq!(built.code, Some(0), "{built:?}");
    let module = folder.path().join("shaped.wasm");
    let object = run(["check".as_ref(), module.as_os_str(), "--json".as_ref()]).json();
    assert_eq!(
        object["shapes"],
        serde_json::json!({"search": "((u8,i64),[?str]) -> Result<Ok([u32;4]),Err(str)>"})
    );
    assert_eq!(object["determinism"], "integer", "examples of floats are in nobody's way");
    assert_eq!(run(["run".as_ref(), module.as_os_str(), "41".as_ref()]).result(), "1\n");
}

#[test]
fn outside_a_crate_there_is_nothing_to_build() {
    let folder = folder();
    ended(build_command(folder.path(), &[])).fails_with(2, &["no Cargo.toml here or above", "sateen new"]);
    let missing = build_command(folder.path(), &["--manifest-path", "none/Cargo.toml"]);
    ended(missing).fails_with(2, &["none/Cargo.toml: there is no such file"]);
}

/// The last line of a failed build is Sateen's; those above are the compiler's.
#[track_caller]
fn fails(name: &str, source: &str, code: i32, last: &str, above: &str) {
    let (folder, built) = build(name, source);
    assert_eq!((built.code, built.text()), (Some(code), ""), "{built:?}");
    let line = built.stderr.lines().last().unwrap_or_default();
    assert!(line.starts_with("sateen: ") && line.contains(last), "{built:?}");
    assert!(built.stderr.contains(above), "{built:?}");
    assert!(!folder.path().join(format!("{name}.wasm")).exists());
}

#[test]
fn an_app_that_does_not_compile_is_the_apps_failure() {
    let source = "#[sateen::main] fn main() -> u64 { \"no number\" }";
    fails("bad-types", source, 1, "the app does not compile", "mismatched types");
}

/// On one worker it would give a different answer than on two.
#[test]
fn a_type_whose_losses_cannot_be_detected_does_not_compile() {
    let source = "#[derive(Clone, serde::Serialize, serde::Deserialize)]
        pub struct Board { n: u64, #[serde(skip)] cache: u64 }
        #[sateen::job] fn count(board: Board) -> u64 { board.n + board.cache }
        #[sateen::main] fn main(n: u64) -> u64 { count::spawn(Board { n, cache: 1 }).sync() }";
    let folder = folder();
    write_crate(folder.path(), "untold", "\"cdylib\"", source);
    let manifest = folder.path().join("Cargo.toml");
    let with_serde = std::fs::read_to_string(&manifest)
        .expect("it was written")
        .replace("[workspace]", "serde = { version = \"1\", features = [\"derive\"] }\n[workspace]");
    std::fs::write(&manifest, with_serde).expect("it can be written");
    let built = ended(build_command(folder.path(), &[]));
    assert_eq!(built.code, Some(1), "{built:?}");
    for said in ["neither `PartialEq` nor `Debug`", "Board", "Add #[derive(Debug)]"] {
        assert!(built.stderr.contains(said), "{said}: {built:?}");
    }
}

/// It does not compile for a sandbox, and its own error is about browsers.
#[test]
fn an_app_that_uses_random_numbers_gets_advice() {
    let folder = folder();
    write_crate(folder.path(), "dice", "\"cdylib\"", "#[sateen::main] fn main() -> u64 { rand::random() }");
    let manifest = folder.path().join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).expect("it was written");
    std::fs::write(&manifest, text.replace("[workspace]", "rand = \"0.9\"\n[workspace]")).expect("the same");
    let built = ended(build_command(folder.path(), &[]));
    assert_eq!(built.code, Some(1), "{built:?}");
    let told = built.stderr.lines().last().unwrap_or_default();
    for words in
        ["asks the system for random numbers", "sateen::SplitMix64", "cargo tree -e features -i getrandom"]
    {
        assert!(told.contains(words), "{words}: {}", built.stderr);
    }
}

#[test]
fn an_app_without_an_entry_point_is_refused() {
    fails("no-entry", "#[sateen::job] fn f(n: u64) -> u64 { n }", 2, "mark a function with #[main]", "");
}

#[test]
fn an_app_with_foreign_imports_is_refused() {
    let source = format!(
        "unsafe extern \"C\" {{ fn clock() -> u64; }}\n{}",
        MAIN.replace("n + 1", "n + unsafe { clock() }")
    );
    fails("foreign", &source, 2, "would be refused: it imports what no host offers: `env.clock`", "");
}

/// Natively both would be found; on the grid, a job has only its name.
#[test]
fn two_jobs_of_one_name_do_not_build() {
    let job = "#[sateen::job] pub fn twin(n: u64) -> u64 { n }";
    let source = format!("mod a {{ {job} }} mod b {{ {job} }}\n{MAIN}");
    fails("twins", &source, 1, "the app does not compile", "twin");
}

#[test]
fn a_crate_that_makes_no_module_is_refused() {
    let folder = folder();
    write_crate(folder.path(), "no-module", "\"rlib\"", MAIN);
    ended(build_command(folder.path(), &[])).fails_with(2, &["cdylib", "[lib]"]);
}

#[test]
fn a_workspace_is_not_an_app() {
    let folder = folder();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\nmembers = []\n")
        .expect("it can be written");
    ended(build_command(folder.path(), &[]))
        .fails_with(2, &["not a package", "the app's own folder", "--package"]);
}

/// With the options of cargo's own commands.
#[test]
fn packages_and_features_are_chosen_as_with_cargo() {
    let folder = folder();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\nmembers = [\"app\"]\nresolver = \"3\"\n")
        .expect("it can be written");
    let app = folder.path().join("app");
    let source = "#[sateen::main] fn main() -> bool { cfg!(feature = \"more\") }";
    write_crate(&app, "chosen", "\"cdylib\"", source);
    let manifest = std::fs::read_to_string(app.join("Cargo.toml")).expect("it was written");
    let manifest = manifest
        .replace("[workspace]\n", "[features]\nmore = []\n[profile.release]\noverflow-checks = true\n");
    std::fs::write(app.join("Cargo.toml"), manifest).expect("it can be written");
    let module = folder.path().join("chosen.wasm");
    for (more, printed) in
        [(&[][..], "false\n"), (&["--features", "more"], "true\n"), (&["--offline"], "false\n")]
    {
        let built = ended(build_command(folder.path(), &[&["--package", "chosen"], more].concat()));
        assert_eq!(built.code, Some(0), "{built:?}");
        let (ours, cargos) =
            ("cargo ignores the profiles of ", "profiles for the non root package will be ignored");
        assert_eq!([ours, cargos].map(|said| built.stderr.matches(said).count()), [1, 1], "{built:?}");
        assert_eq!(run(["run".as_ref(), module.as_os_str()]).result(), printed, "{more:?}");
    }
    ended(build_command(folder.path(), &["-p", "other"]))
        .fails_with(2, &["has no package `other`; it has `chosen`"]);
    // Cargo compiles nothing then, so that the module is as good as before.
    let refused = |more: &[&str]| {
        let built = ended(build_command(folder.path(), &[&["--package", "chosen"], more].concat()));
        assert_eq!(built.code, Some(2), "{built:?}");
        assert!(!built.stderr.contains("is removed") && module.is_file(), "{built:?}");
    };
    refused(&["--features", "nosuch"]);
    std::fs::remove_file(folder.path().join("Cargo.lock")).expect("cargo made it");
    refused(&["--locked"]);
}

/// The standard library's errors for these leave nothing in the module.
#[test]
fn features_that_a_sandbox_lacks_are_named() {
    for (name, body, said) in [
        ("reads-files", "std::fs::read(\"x\").map_or(n, |bytes| bytes.len() as u64)", "sateen::input"),
        (
            "reads-variables",
            "std::env::var(\"X\").map_or(n, |text| text.len() as u64)",
            "parameters of #[main]",
        ),
        ("connects", "u64::from(std::net::TcpStream::connect(\"a:1\").is_ok()) + n", "sateen::input"),
        (
            "starts",
            "u64::from(std::process::Command::new(\"a\").output().is_ok()) + n",
            "other programs do not start",
        ),
        ("exits", "if n > 5 { std::process::exit(1) } n", "exit fails the run"),
        ("sleeps", "std::thread::sleep(std::time::Duration::from_millis(n)); n", "std::thread::sleep"),
        (
            "asks",
            "{ let mut line = String::new(); std::io::stdin().read_line(&mut line).map_or(n, |_| line.len() as u64) }",
            "--input NAME=-",
        ),
    ] {
        let (_folder, built) = build(name, &MAIN.replace("n + 1", body));
        assert_eq!(built.code, Some(0), "{built:?}");
        let warning = built.stderr.lines().find(|line| line.contains("warning: ") && line.contains(said));
        assert!(warning.is_some_and(|line| line.starts_with("sateen: ")), "{said}: {built:?}");
    }
    let plain = "\"1.2.3.4\".parse::<std::net::IpAddr>().map_or(n, |_| n)";
    let (_folder, built) = build("parses", &MAIN.replace("n + 1", plain));
    assert!(built.code == Some(0) && !built.stderr.contains("warning"), "{built:?}");
}

#[test]
fn a_crate_without_the_sdk_is_told_what_to_add() {
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn f(n: u64) -> u64 { n }";
    fails("without-sdk", source, 2, "add `sateen` to [dependencies]", "");
}

#[test]
fn an_output_that_is_not_a_module_is_not_replaced() {
    let folder = folder();
    write_crate(folder.path(), "greedy", "\"cdylib\"", MAIN);
    for output in ["Cargo.toml", "src/lib.rs"] {
        let before = std::fs::read(folder.path().join(output)).expect("it was written");
        let refused = ended(build_command(folder.path(), &["-o", output]));
        refused.fails_with(2, &[output, "exists and is not a module"]);
        assert!(std::fs::read(folder.path().join(output)).expect("it is left") == before);
    }
    ended(build_command(folder.path(), &["-o", "-"])).fails_with(2, &["leave out --output"]);
}

/// Otherwise, a module that differs from the source would be run.
#[test]
fn a_failed_build_leaves_no_module_of_an_earlier_one() {
    let (folder, built) = build("fickle", MAIN);
    assert_eq!(built.code, Some(0), "{built:?}");
    std::fs::write(folder.path().join("src/lib.rs"), "#[sateen::main] fn main() -> u64 {")
        .expect("it can be written");
    let built = ended(build_command(folder.path(), &[]));
    assert_eq!(built.code, Some(1), "{built:?}");
    assert!(built.stderr.contains("fickle.wasm, of an earlier build, is removed"), "{built:?}");
    assert!(!folder.path().join("fickle.wasm").exists());
}

#[test]
fn a_manifest_that_cargo_cannot_read_is_reported() {
    let folder = folder();
    std::fs::write(folder.path().join("Cargo.toml"), "[package\n").expect("it can be written");
    let built = ended(build_command(folder.path(), &[]));
    assert_eq!(built.code, Some(2), "{built:?}");
    let line = built.stderr.lines().last().unwrap_or_default();
    assert!(line.starts_with("sateen: ") && line.ends_with("cargo cannot read it"), "{built:?}");
}

/// A user's own flags for rustc, which many CI systems set, must not replace Sateen's.
#[test]
fn the_stack_has_its_size_whatever_flags_are_in_the_environment() {
    let folder = folder();
    write_crate(folder.path(), "flagged", "\"cdylib\"", MAIN);
    for flags in [None, Some("--cfg mine"), Some("")] {
        for (stack, mebibytes) in [("4M", 4), ("32M", 32)] {
            let mut command = build_command(folder.path(), &["--stack", stack]);
            command
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .env_remove("RUSTFLAGS")
                .envs(flags.map(|f| ("RUSTFLAGS", f)));
            let built = ended(command);
            assert_eq!(built.code, Some(0), "{built:?}");
            let module = folder.path().join("flagged.wasm");
            let described = run(["check".as_ref(), module.as_os_str(), "--json".as_ref()]).json();
            let memory = described["memory_bytes"].as_u64().unwrap_or_default() >> 20;
            assert!((mebibytes..mebibytes + 3).contains(&memory), "{memory} MiB with {stack} and {flags:?}");
        }
    }
}

/// Vectors of 128 bits, in an app that does not request them.
#[test]
fn a_built_app_may_use_simd() {
    let source = "#[sateen::main] fn main() -> bool { cfg!(target_feature = \"simd128\") }";
    let (folder, built) = build("with-simd", source);
    assert_eq!(built.code, Some(0), "{built:?}");
    assert_eq!(run(["run".as_ref(), folder.path().join("with-simd.wasm").as_os_str()]).result(), "true\n");
}
