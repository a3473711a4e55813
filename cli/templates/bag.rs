//! A bag of tasks: one job for each line of a CSV file, in any order, and a CSV file of results.
//!
//! Here a task is a number, and its result the smallest prime factor. Replace `Task`, `work` and `row`.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// The first line of the input `tasks`, and of the output.
const HEADINGS: &str = "name,number";

/// A line of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Task {
    name: String,
    number: u64,
}

/// The task: a function of only its parameters, so that any host may run it, and run it again.
#[job]
fn work(task: Task) -> u64 {
    let Task { number, .. } = task;
    (2..)
        .take_while(|factor| *factor <= number / factor)
        .find(|factor| number % factor == 0)
        .unwrap_or(number)
}

/// The line of a result.
fn row(task: &Task, factor: u64) -> String {
    format!("{},{},{factor}", task.name, task.number)
}

/// Reads the tasks: plain CSV, without quotes. An error names its line.
fn parse(text: &str) -> Result<Vec<Task>, BadInput> {
    let mut lines = text.lines().zip(1..);
    let headings = lines.next().map_or("", |(line, _)| line.trim());
    if headings != HEADINGS {
        return Err(BadInput::at_line("tasks", 1, format!("`{HEADINGS}` is expected, not `{headings}`")));
    }
    let tasks = lines.filter(|(line, _)| !line.trim().is_empty()).map(|(line, at)| {
        let wrong = |what: &str| BadInput::at_line("tasks", at, format!("{what} in `{line}`"));
        let (name, number) = line.split_once(',').ok_or_else(|| wrong("there is no comma"))?;
        let number =
            number.trim().parse().map_err(|_| wrong("a number from 2 is expected behind the comma"))?;
        if number < 2 {
            return Err(wrong("a number from 2 is expected behind the comma"));
        }
        Ok(Task { name: name.trim().to_owned(), number })
    });
    tasks.collect()
}

/// The entry point: `sateen run NAME.wasm --input tasks=tasks.csv`.
#[main]
fn main() -> Result<String, BadInput> {
    let tasks = parse(&sateen::input_text("tasks")?)?;
    let mut rows = vec![String::new(); tasks.len()];
    // Results come in the order in which they are ready, and jobs are spawned as results are taken: there may be
    // more tasks than memory holds jobs.
    for (done, (at, factor)) in work::stream(tasks.iter().cloned()).enumerate() {
        rows[at] = row(&tasks[at], factor);
        sateen::progress(done as u64 + 1, tasks.len() as u64);
    }
    rows.insert(0, format!("{HEADINGS},factor"));
    Ok(rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sateen test` runs it in sandboxes as well.
    #[sateen::test(inputs(tasks = "name,number\nmersenne,2147483647\n\nfermat, 4294967297\n"))]
    fn known_answers() {
        let expected = "name,number,factor\nmersenne,2147483647,2147483647\nfermat,4294967297,641";
        assert_eq!(main(), Ok(expected.to_owned()));
    }

    #[test]
    fn an_error_names_its_line() {
        let error = parse("name,number\na,7\nb,seven\n").expect_err("seven is not a number");
        assert!(error.to_string().starts_with("input `tasks`, line 3: "), "{error}");
        sateen::testing::damage_input("tasks", "name,number\na,7\nb,91\n", || {
            parse(&sateen::input_text("tasks")?)
        });
    }
}
