//! What the API says, as JSON. The pages' TypeScript and the OpenAPI document are made from these.

mod app;
mod counts;
mod grid;
mod job;
mod run;
mod watch;

pub use app::{App, Blob, Version};
pub use counts::JobCounts;
pub use grid::{Host, Log, LogLine, Status};
pub use job::{ChildJob, Job, JobDetails, Node, RunLimits, Tree};
pub use run::{
    AppOfRun, Counted, Figures, HostOfRun, Progress, Run, RunFailure, Steals, Submission, Submitted,
    SubmittedLimits, TableSize, seconds,
};
pub use watch::{
    Alert, CriticalJob, Depth, EventKind, Grid, HoldUp, HoldUpKind, IdleWhy, Remaining, RunDetails, RunEvent,
    SeriesOfRun, Timeline, TimelineRow, TreeHost, TreeTable,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;
    use std::path::Path;

    use ts_rs::{Config, TS};

    use super::*;

    /// All types as TypeScript, by their files. Numbers of 64 bits are numbers: none of them is an id.
    fn typescript() -> BTreeMap<String, String> {
        let config = Config::new().with_large_int("number");
        let mut files = BTreeMap::new();
        macro_rules! add {
            ($($name:ident),* $(,)?) => {
                $(
                    let text = $name::export_to_string(&config).expect("it can be written");
                    // The first line says which tool wrote it.
                    let text = text.split_once('\n').map_or("", |(_, text)| text).trim_start();
                    let text = format!("// Made from the coordinator's types; see coordinator/src/api/types.\n{text}");
                    files.insert(format!("{}.ts", $name::name(&config)), text);
                )*
            };
        }
        add!(
            Alert,
            App,
            AppOfRun,
            Blob,
            ChildJob,
            Counted,
            CriticalJob,
            Depth,
            EventKind,
            Grid,
            HoldUp,
            HoldUpKind,
            Host,
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
        let mut index =
            String::from("// Made from the coordinator's types; see coordinator/src/api/types.\n");
        for file in files.keys() {
            let name = file.trim_end_matches(".ts");
            let _ = writeln!(index, "export type {{ {name} }} from './{name}';");
        }
        files.insert("index.ts".to_owned(), index);
        files
    }

    /// With `SATEEN_WRITE_TYPES=1` the files are written anew.
    #[test]
    fn the_pages_types_are_these() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui/src/lib/api");
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
}
