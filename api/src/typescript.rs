//! Files generated from the types: the dashboard's TypeScript and the tables of `docs/api.md`. These tests compare both
//! with the types, and regenerate them with `SATEEN_WRITE_TYPES=1` (`cargo xtask types`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use sateen_protocol::RunState;
use ts_rs::{Config, TS};

use crate::*;

/// All types as TypeScript, by file. Integers of 64 bits become numbers, because none of them is an id.
fn typescript() -> BTreeMap<String, String> {
    let config = Config::new().with_large_int("number");
    let mut files = BTreeMap::new();
    macro_rules! add {
        ($($name:ident),* $(,)?) => {
            $(
                let text = $name::export_to_string(&config).expect("it can be written");
                // The first line says which tool wrote it.
                let text = text.split_once('\n').map_or("", |(_, text)| text).trim_start();
                let text = format!("// Made from the types of the API; see api/src.\n{text}");
                files.insert(format!("{}.ts", $name::name(&config)), text);
            )*
        };
    }
    add!(
        Alert,
        App,
        AppOfRun,
        BarredHost,
        Blob,
        Caught,
        Checked,
        ChildJob,
        Counted,
        CriticalJob,
        Depth,
        EarlierResults,
        EventKind,
        Grid,
        HoldUp,
        HoldUpKind,
        Host,
        HostKey,
        HostOfRun,
        IdleWhy,
        Job,
        JobCounts,
        JobDetails,
        Log,
        LogLine,
        Node,
        Progress,
        Remaining,
        Run,
        RunDetails,
        RunEvent,
        RunFailure,
        RunLimits,
        SeriesOfRun,
        Status,
        Steals,
        Submission,
        SubmittedLimits,
        Submitted,
        TableSize,
        Timeline,
        TimelineRow,
        Tree,
        TreeHost,
        TreeTable,
        Version,
    );
    let mut index = String::from("// Made from the types of the API; see api/src.\n");
    for file in files.keys() {
        let name = file.trim_end_matches(".ts");
        let _ = writeln!(index, "export type {{ {name} }} from './{name}';");
    }
    files.insert("index.ts".to_owned(), index);
    files
}

/// Types whose fields the book lists, and those of their fields that have types of their own.
const IN_THE_BOOK: [&str; 2] = ["Run", "Host"];
const BEGIN: &str = "<!-- fields of ";
const END: &str = "<!-- end of fields -->";

/// The fields of a type in their order: name, type, description.
fn fields<'a>(files: &'a BTreeMap<String, String>, name: &str) -> Vec<(&'a str, &'a str, String)> {
    let Some((_, text)) = files[&format!("{name}.ts")].split_once(" = { \n") else { return Vec::new() };
    let mut fields = Vec::new();
    for field in text.split("/**\n").skip(1) {
        let (comment, field) = field.split_once("*/\n").expect("a comment ends");
        let words = comment.lines().map(|line| line.trim().trim_start_matches('*').trim());
        let description = words.collect::<Vec<_>>().join(" ").trim().to_owned();
        let (name, kind) = field.split_once(": ").expect("a field has a type");
        let kind = kind.trim().trim_end_matches(['}', ';', ' ']).trim_end_matches(',');
        fields.push((name.trim_end_matches('?'), kind, description));
    }
    fields
}

/// The rows of a table of a type's fields.
fn rows(files: &BTreeMap<String, String>, of: &str, prefix: &str, table: &mut String) {
    for (name, kind, description) in fields(files, of) {
        let inner = kind.trim_end_matches(" | null");
        let (inner, mark) = match inner.strip_prefix("Array<") {
            Some(inner) => (inner.trim_end_matches('>'), "[]"),
            None => (inner, ""),
        };
        let is_object = files.contains_key(&format!("{inner}.ts")) && !fields(files, inner).is_empty();
        // A host's counts of a run are described with those of the run.
        if is_object && inner == "JobCounts" && !prefix.is_empty() {
            let _ = writeln!(
                table,
                "| `{prefix}{name}` | {description} The same counts as in `jobs` of the run. |"
            );
        } else if is_object && (inner != "JobCounts" || of != "Host") {
            let _ = writeln!(table, "| `{prefix}{name}` | {description} |");
            rows(files, inner, &format!("{prefix}{name}{mark}."), table);
        } else {
            let _ = writeln!(table, "| `{prefix}{name}` | {description} |");
        }
    }
}

/// The book describes the API's fields as the OpenAPI document and the pages' types do: all come from the Rust types.
/// With `SATEEN_WRITE_TYPES=1` the tables are regenerated.
#[test]
fn the_pages_types_are_in_the_book() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let book = std::fs::read_to_string(&path).expect("the book is there");
    let files = typescript();
    let mut fresh = String::new();
    let mut rest = book.as_str();
    let mut found = Vec::new();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, _) = after.split_once(" -->").expect("the name of a type");
        let (_, after) = after.split_once(END).expect("an end");
        let mut table = "| field | is |\n| --- | --- |\n".to_owned();
        rows(&files, name, "", &mut table);
        let _ = write!(fresh, "{before}{BEGIN}{name} -->\n{table}{END}");
        found.push(name);
        rest = after;
    }
    fresh.push_str(rest);
    assert_eq!(found, IN_THE_BOOK);
    if std::env::var_os("SATEEN_WRITE_TYPES").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    } else {
        assert!(fresh == book, "docs/api.md differs from the Rust types; `cargo xtask types` writes it anew");
    }
    for row in
        ["`run`", "`app.hash`", "`jobs.lost`", "`lost_work_s`", "`held_up_by.kind`", "`by_host[].there`"]
    {
        assert!(fresh.contains(&format!("| {row} |")), "{row} is not in {fresh}");
    }
    assert!(!fresh.contains("[`"), "links within comments are none in the book");
}

/// With `SATEEN_WRITE_TYPES=1` the files are regenerated.
#[test]
fn the_pages_types_are_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web-ui/src/lib/api");
    let writes = std::env::var_os("SATEEN_WRITE_TYPES").is_some();
    if writes {
        std::fs::create_dir_all(&folder).expect("a folder");
    }
    for (file, text) in typescript() {
        let path = folder.join(&file);
        if writes {
            std::fs::write(&path, &text).expect("written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{} differs from the Rust types; `cargo xtask types` writes it anew",
            path.display()
        );
    }
}

/// The pages' own types, which are more precise than a string: the states of runs, and which of them are final.
#[test]
fn the_pages_states_of_runs_are_the_protocols() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web-ui/src/lib/types.ts");
    let pages = std::fs::read_to_string(&path).expect("the pages are there");
    let words = |states: &mut dyn Iterator<Item = RunState>| {
        states.map(|state| format!("'{}'", state.word())).collect::<Vec<_>>().join(", ")
    };
    let all = words(&mut RunState::ALL.into_iter());
    let over = words(&mut RunState::ALL.into_iter().filter(|state| state.is_over()));
    for line in [
        format!("export const RUN_STATES = [{all}] as const;"),
        format!("const OVER: readonly RunState[] = [{over}];"),
    ] {
        assert!(pages.contains(&line), "`{line}` is not in {}", path.display());
    }
}
